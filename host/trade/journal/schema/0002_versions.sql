-- From here on every body of log has "v", the version of the form of its data and of the rows of its transaction.
-- One without it is of version 1. The tables stay as they are; the number of the schema rises so that a program that
-- knows version 1 only says that the journal is newer than it, not that it is damaged.
SELECT 1;
