\set account random(1, 100000 * :scale)
\set amount random(-5000, 5000)
UPDATE pgbench_accounts SET abalance = abalance + :amount WHERE aid = :account;
