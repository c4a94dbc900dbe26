"""Showing it: records become tables, figures and a page. No statistics here."""
