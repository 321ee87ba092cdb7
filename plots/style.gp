# SPDX-License-Identifier: MIT
# style.gp - the look of plots/style.py for gnuplot. Made by: python3 plots/style.py > plots/style.gp
set style line 1 lc rgb "#8C8C8C" pt 2 dt 3 lw 1.6 ps 0.8 # null@none
set style line 2 lc rgb "#595959" pt 1 dt 2 lw 1.6 ps 0.8 # local@none
set style line 3 lc rgb "#000000" pt 3 dt 4 lw 1.6 ps 0.8 # broken@none
set style line 4 lc rgb "#E69F00" pt 7 dt 1 lw 1.6 ps 0.8 # redis-token@redis
set style line 5 lc rgb "#E69F00" pt 6 dt 2 lw 1.6 ps 0.8 # redis-token@redis-aof
set style line 6 lc rgb "#E69F00" pt 1 dt 4 lw 1.6 ps 0.8 # redis-token@redis-aof-everysec
set style line 7 lc rgb "#E69F00" pt 15 dt 3 lw 1.6 ps 0.8 # redis-token@sentinel
set style line 8 lc rgb "#E69F00" pt 14 dt 4 lw 1.6 ps 0.8 # redis-token@sentinel-minreplicas
set style line 9 lc rgb "#E69F00" pt 5 dt 2 lw 1.6 ps 0.8 # redis-token@cluster
set style line 10 lc rgb "#CC79A7" pt 9 dt 1 lw 1.6 ps 0.8 # redlock@redis-x5
set style line 11 lc rgb "#CC79A7" pt 8 dt 2 lw 1.6 ps 0.8 # redlock@redis-x3
set style line 12 lc rgb "#CC79A7" pt 9 dt 3 lw 1.6 ps 0.8 # redlock@redis-x5-aof
set style line 13 lc rgb "#009E73" pt 5 dt 1 lw 1.6 ps 0.8 # zk-sequential@zk
set style line 14 lc rgb "#009E73" pt 4 dt 2 lw 1.6 ps 0.8 # zk-sequential@zk-x3
set style line 15 lc rgb "#0072B2" pt 13 dt 1 lw 1.6 ps 0.8 # pg-row@pg
set style line 16 lc rgb "#0072B2" pt 12 dt 2 lw 1.6 ps 0.8 # pg-row@pg-async
set style line 17 lc rgb "#0072B2" pt 13 dt 3 lw 1.6 ps 0.8 # pg-row@pg-sync
set style line 18 lc rgb "#0072B2" pt 12 dt 4 lw 1.6 ps 0.8 # pg-row@pg-nosync
set style line 19 lc rgb "#56B4E9" pt 11 dt 1 lw 1.6 ps 0.8 # pg-lease@pg
set style line 20 lc rgb "#56B4E9" pt 10 dt 2 lw 1.6 ps 0.8 # pg-lease@pg-async
set style line 21 lc rgb "#56B4E9" pt 11 dt 3 lw 1.6 ps 0.8 # pg-lease@pg-sync
set style line 22 lc rgb "#56B4E9" pt 10 dt 4 lw 1.6 ps 0.8 # pg-lease@pg-nosync
set style line 23 lc rgb "#882255" pt 15 dt 1 lw 1.6 ps 0.8 # pg-lease-client@pg
set style line 24 lc rgb "#882255" pt 14 dt 2 lw 1.6 ps 0.8 # pg-lease-client@pg-async
set style line 25 lc rgb "#882255" pt 15 dt 4 lw 1.6 ps 0.8 # pg-lease-client@pg-sync
set style line 26 lc rgb "#882255" pt 14 dt 3 lw 1.6 ps 0.8 # pg-lease-client@pg-nosync
set style line 27 lc rgb "#8C8C8C" pt 2 dt 1 lw 1.6 ps 0.8 # floor-redis@redis
set style line 28 lc rgb "#8C8C8C" pt 3 dt 1 lw 1.6 ps 0.8 # floor-zk@zk
set style line 29 lc rgb "#8C8C8C" pt 3 dt 2 lw 1.6 ps 0.8 # floor-zk@zk-x3
set style line 30 lc rgb "#8C8C8C" pt 1 dt 1 lw 1.6 ps 0.8 # floor-pg@pg
set style line 31 lc rgb "#332288" pt 4 dt 1 lw 1.6 ps 0.8 # other 1
set style line 32 lc rgb "#332288" pt 15 dt 2 lw 1.6 ps 0.8 # other 2
set style line 33 lc rgb "#332288" pt 8 dt 3 lw 1.6 ps 0.8 # other 3
set style line 34 lc rgb "#332288" pt 5 dt 4 lw 1.6 ps 0.8 # other 4
