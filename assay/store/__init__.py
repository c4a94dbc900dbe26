"""What is done: folders as the truth, an SQLite index, claims."""
