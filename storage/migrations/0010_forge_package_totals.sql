-- Lists of packages count their versions in the index; the table of totals is no longer used.
DROP TABLE forge_package_totals;
