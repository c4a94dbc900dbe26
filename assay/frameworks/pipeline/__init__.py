"""One pipeline of scikit-learn as a framework; its modules are imported here too, to fit a winner on all rows."""
