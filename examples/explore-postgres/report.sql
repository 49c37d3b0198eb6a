\set first random(1, 100000 * :scale - 20000)
SELECT max(number) FROM (SELECT row_number() OVER (ORDER BY filler, abalance, aid DESC) AS number
    FROM pgbench_accounts WHERE aid BETWEEN :first AND :first + 20000) AS ranked;
