"""The paper's figures and claims, simulated anew, and the coverage of every interval."""
