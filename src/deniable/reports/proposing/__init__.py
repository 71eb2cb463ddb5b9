"""Questions proposed from data: which question each column could hold the answers to, and why some are left out."""
