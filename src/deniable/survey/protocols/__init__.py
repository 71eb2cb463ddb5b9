"""The protocols, one file for each: how one answer is randomized, and what evidence a report gives."""
