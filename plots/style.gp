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
set style line 32 lc rgb "#8C510A" pt 9 dt 2 lw 1.6 ps 0.8 # other 2
set style line 33 lc rgb "#882255" pt 7 dt 3 lw 1.6 ps 0.8 # other 3
set style line 34 lc rgb "#0072B2" pt 10 dt 4 lw 1.6 ps 0.8 # other 4
set style line 35 lc rgb "#999933" pt 13 dt 1 lw 1.6 ps 0.8 # other 5
set style line 36 lc rgb "#009E73" pt 14 dt 2 lw 1.6 ps 0.8 # other 6
set style line 37 lc rgb "#CC79A7" pt 2 dt 3 lw 1.6 ps 0.8 # other 7
set style line 38 lc rgb "#E69F00" pt 5 dt 4 lw 1.6 ps 0.8 # other 8
set style line 39 lc rgb "#56B4E9" pt 8 dt 1 lw 1.6 ps 0.8 # other 9
set style line 40 lc rgb "#000000" pt 3 dt 2 lw 1.6 ps 0.8 # other 10
set style line 41 lc rgb "#8C8C8C" pt 6 dt 3 lw 1.6 ps 0.8 # other 11
set style line 42 lc rgb "#332288" pt 11 dt 4 lw 1.6 ps 0.8 # other 12
set style line 43 lc rgb "#8C510A" pt 1 dt 1 lw 1.6 ps 0.8 # other 13
set style line 44 lc rgb "#882255" pt 12 dt 2 lw 1.6 ps 0.8 # other 14
set style line 45 lc rgb "#0072B2" pt 15 dt 3 lw 1.6 ps 0.8 # other 15
set style line 46 lc rgb "#999933" pt 4 dt 4 lw 1.6 ps 0.8 # other 16
set style line 47 lc rgb "#009E73" pt 9 dt 1 lw 1.6 ps 0.8 # other 17
set style line 48 lc rgb "#CC79A7" pt 7 dt 2 lw 1.6 ps 0.8 # other 18
set style line 49 lc rgb "#E69F00" pt 10 dt 3 lw 1.6 ps 0.8 # other 19
set style line 50 lc rgb "#56B4E9" pt 13 dt 4 lw 1.6 ps 0.8 # other 20
set style line 51 lc rgb "#000000" pt 14 dt 1 lw 1.6 ps 0.8 # other 21
set style line 52 lc rgb "#8C8C8C" pt 2 dt 2 lw 1.6 ps 0.8 # other 22
set style line 53 lc rgb "#332288" pt 5 dt 3 lw 1.6 ps 0.8 # other 23
set style line 54 lc rgb "#8C510A" pt 8 dt 4 lw 1.6 ps 0.8 # other 24
set style line 55 lc rgb "#882255" pt 3 dt 1 lw 1.6 ps 0.8 # other 25
set style line 56 lc rgb "#0072B2" pt 6 dt 2 lw 1.6 ps 0.8 # other 26
set style line 57 lc rgb "#999933" pt 11 dt 3 lw 1.6 ps 0.8 # other 27
set style line 58 lc rgb "#009E73" pt 1 dt 4 lw 1.6 ps 0.8 # other 28
set style line 59 lc rgb "#CC79A7" pt 12 dt 1 lw 1.6 ps 0.8 # other 29
set style line 60 lc rgb "#E69F00" pt 15 dt 2 lw 1.6 ps 0.8 # other 30
set style line 61 lc rgb "#56B4E9" pt 4 dt 3 lw 1.6 ps 0.8 # other 31
set style line 62 lc rgb "#000000" pt 9 dt 4 lw 1.6 ps 0.8 # other 32
set style line 63 lc rgb "#8C8C8C" pt 7 dt 1 lw 1.6 ps 0.8 # other 33
set style line 64 lc rgb "#332288" pt 10 dt 2 lw 1.6 ps 0.8 # other 34
set style line 65 lc rgb "#8C510A" pt 13 dt 3 lw 1.6 ps 0.8 # other 35
set style line 66 lc rgb "#882255" pt 14 dt 4 lw 1.6 ps 0.8 # other 36
set style line 67 lc rgb "#0072B2" pt 2 dt 1 lw 1.6 ps 0.8 # other 37
set style line 68 lc rgb "#999933" pt 5 dt 2 lw 1.6 ps 0.8 # other 38
set style line 69 lc rgb "#009E73" pt 8 dt 3 lw 1.6 ps 0.8 # other 39
set style line 70 lc rgb "#CC79A7" pt 3 dt 4 lw 1.6 ps 0.8 # other 40
set style line 71 lc rgb "#E69F00" pt 6 dt 1 lw 1.6 ps 0.8 # other 41
set style line 72 lc rgb "#56B4E9" pt 11 dt 2 lw 1.6 ps 0.8 # other 42
set style line 73 lc rgb "#000000" pt 1 dt 3 lw 1.6 ps 0.8 # other 43
set style line 74 lc rgb "#8C8C8C" pt 12 dt 4 lw 1.6 ps 0.8 # other 44
set style line 75 lc rgb "#332288" pt 15 dt 1 lw 1.6 ps 0.8 # other 45
set style line 76 lc rgb "#8C510A" pt 4 dt 2 lw 1.6 ps 0.8 # other 46
set style line 77 lc rgb "#882255" pt 9 dt 3 lw 1.6 ps 0.8 # other 47
set style line 78 lc rgb "#0072B2" pt 7 dt 4 lw 1.6 ps 0.8 # other 48
set style line 79 lc rgb "#999933" pt 10 dt 1 lw 1.6 ps 0.8 # other 49
set style line 80 lc rgb "#009E73" pt 13 dt 2 lw 1.6 ps 0.8 # other 50
set style line 81 lc rgb "#CC79A7" pt 14 dt 3 lw 1.6 ps 0.8 # other 51
set style line 82 lc rgb "#E69F00" pt 2 dt 4 lw 1.6 ps 0.8 # other 52
set style line 83 lc rgb "#56B4E9" pt 5 dt 1 lw 1.6 ps 0.8 # other 53
set style line 84 lc rgb "#000000" pt 8 dt 2 lw 1.6 ps 0.8 # other 54
set style line 85 lc rgb "#8C8C8C" pt 3 dt 3 lw 1.6 ps 0.8 # other 55
set style line 86 lc rgb "#332288" pt 6 dt 4 lw 1.6 ps 0.8 # other 56
set style line 87 lc rgb "#8C510A" pt 11 dt 1 lw 1.6 ps 0.8 # other 57
set style line 88 lc rgb "#882255" pt 1 dt 2 lw 1.6 ps 0.8 # other 58
set style line 89 lc rgb "#0072B2" pt 12 dt 3 lw 1.6 ps 0.8 # other 59
set style line 90 lc rgb "#999933" pt 15 dt 4 lw 1.6 ps 0.8 # other 60
set style line 91 lc rgb "#009E73" pt 4 dt 1 lw 1.6 ps 0.8 # other 61
set style line 92 lc rgb "#CC79A7" pt 9 dt 2 lw 1.6 ps 0.8 # other 62
set style line 93 lc rgb "#E69F00" pt 7 dt 3 lw 1.6 ps 0.8 # other 63
set style line 94 lc rgb "#56B4E9" pt 10 dt 4 lw 1.6 ps 0.8 # other 64
set style line 95 lc rgb "#000000" pt 13 dt 1 lw 1.6 ps 0.8 # other 65
set style line 96 lc rgb "#8C8C8C" pt 14 dt 2 lw 1.6 ps 0.8 # other 66
set style line 97 lc rgb "#332288" pt 2 dt 3 lw 1.6 ps 0.8 # other 67
set style line 98 lc rgb "#8C510A" pt 5 dt 4 lw 1.6 ps 0.8 # other 68
set style line 99 lc rgb "#882255" pt 8 dt 1 lw 1.6 ps 0.8 # other 69
set style line 100 lc rgb "#0072B2" pt 3 dt 2 lw 1.6 ps 0.8 # other 70
set style line 101 lc rgb "#999933" pt 6 dt 3 lw 1.6 ps 0.8 # other 71
set style line 102 lc rgb "#009E73" pt 11 dt 4 lw 1.6 ps 0.8 # other 72
set style line 103 lc rgb "#CC79A7" pt 1 dt 1 lw 1.6 ps 0.8 # other 73
set style line 104 lc rgb "#E69F00" pt 12 dt 2 lw 1.6 ps 0.8 # other 74
set style line 105 lc rgb "#56B4E9" pt 15 dt 3 lw 1.6 ps 0.8 # other 75
set style line 106 lc rgb "#000000" pt 4 dt 4 lw 1.6 ps 0.8 # other 76
set style line 107 lc rgb "#8C8C8C" pt 9 dt 1 lw 1.6 ps 0.8 # other 77
set style line 108 lc rgb "#332288" pt 7 dt 2 lw 1.6 ps 0.8 # other 78
set style line 109 lc rgb "#8C510A" pt 10 dt 3 lw 1.6 ps 0.8 # other 79
set style line 110 lc rgb "#882255" pt 13 dt 4 lw 1.6 ps 0.8 # other 80
set style line 111 lc rgb "#0072B2" pt 14 dt 1 lw 1.6 ps 0.8 # other 81
set style line 112 lc rgb "#999933" pt 2 dt 2 lw 1.6 ps 0.8 # other 82
set style line 113 lc rgb "#009E73" pt 5 dt 3 lw 1.6 ps 0.8 # other 83
set style line 114 lc rgb "#CC79A7" pt 8 dt 4 lw 1.6 ps 0.8 # other 84
set style line 115 lc rgb "#E69F00" pt 3 dt 1 lw 1.6 ps 0.8 # other 85
set style line 116 lc rgb "#56B4E9" pt 6 dt 2 lw 1.6 ps 0.8 # other 86
set style line 117 lc rgb "#000000" pt 11 dt 3 lw 1.6 ps 0.8 # other 87
set style line 118 lc rgb "#8C8C8C" pt 1 dt 4 lw 1.6 ps 0.8 # other 88
set style line 119 lc rgb "#332288" pt 12 dt 1 lw 1.6 ps 0.8 # other 89
set style line 120 lc rgb "#8C510A" pt 15 dt 2 lw 1.6 ps 0.8 # other 90
set style line 121 lc rgb "#882255" pt 4 dt 3 lw 1.6 ps 0.8 # other 91
set style line 122 lc rgb "#0072B2" pt 9 dt 4 lw 1.6 ps 0.8 # other 92
set style line 123 lc rgb "#999933" pt 7 dt 1 lw 1.6 ps 0.8 # other 93
set style line 124 lc rgb "#009E73" pt 10 dt 2 lw 1.6 ps 0.8 # other 94
set style line 125 lc rgb "#CC79A7" pt 13 dt 3 lw 1.6 ps 0.8 # other 95
set style line 126 lc rgb "#E69F00" pt 14 dt 4 lw 1.6 ps 0.8 # other 96
set style line 127 lc rgb "#56B4E9" pt 2 dt 1 lw 1.6 ps 0.8 # other 97
set style line 128 lc rgb "#000000" pt 5 dt 2 lw 1.6 ps 0.8 # other 98
set style line 129 lc rgb "#8C8C8C" pt 8 dt 3 lw 1.6 ps 0.8 # other 99
set style line 130 lc rgb "#332288" pt 3 dt 4 lw 1.6 ps 0.8 # other 100
set style line 131 lc rgb "#8C510A" pt 6 dt 1 lw 1.6 ps 0.8 # other 101
set style line 132 lc rgb "#882255" pt 11 dt 2 lw 1.6 ps 0.8 # other 102
set style line 133 lc rgb "#0072B2" pt 1 dt 3 lw 1.6 ps 0.8 # other 103
set style line 134 lc rgb "#999933" pt 12 dt 4 lw 1.6 ps 0.8 # other 104
set style line 135 lc rgb "#009E73" pt 15 dt 1 lw 1.6 ps 0.8 # other 105
set style line 136 lc rgb "#CC79A7" pt 4 dt 2 lw 1.6 ps 0.8 # other 106
set style line 137 lc rgb "#E69F00" pt 9 dt 3 lw 1.6 ps 0.8 # other 107
set style line 138 lc rgb "#56B4E9" pt 7 dt 4 lw 1.6 ps 0.8 # other 108
set style line 139 lc rgb "#000000" pt 10 dt 1 lw 1.6 ps 0.8 # other 109
set style line 140 lc rgb "#8C8C8C" pt 13 dt 2 lw 1.6 ps 0.8 # other 110
set style line 141 lc rgb "#332288" pt 14 dt 3 lw 1.6 ps 0.8 # other 111
set style line 142 lc rgb "#8C510A" pt 2 dt 4 lw 1.6 ps 0.8 # other 112
set style line 143 lc rgb "#882255" pt 5 dt 1 lw 1.6 ps 0.8 # other 113
set style line 144 lc rgb "#0072B2" pt 8 dt 2 lw 1.6 ps 0.8 # other 114
set style line 145 lc rgb "#999933" pt 3 dt 3 lw 1.6 ps 0.8 # other 115
set style line 146 lc rgb "#009E73" pt 6 dt 4 lw 1.6 ps 0.8 # other 116
set style line 147 lc rgb "#CC79A7" pt 11 dt 1 lw 1.6 ps 0.8 # other 117
set style line 148 lc rgb "#E69F00" pt 1 dt 2 lw 1.6 ps 0.8 # other 118
set style line 149 lc rgb "#56B4E9" pt 12 dt 3 lw 1.6 ps 0.8 # other 119
set style line 150 lc rgb "#000000" pt 15 dt 4 lw 1.6 ps 0.8 # other 120
set style line 151 lc rgb "#8C8C8C" pt 4 dt 1 lw 1.6 ps 0.8 # other 121
set style line 152 lc rgb "#332288" pt 9 dt 2 lw 1.6 ps 0.8 # other 122
set style line 153 lc rgb "#8C510A" pt 7 dt 3 lw 1.6 ps 0.8 # other 123
set style line 154 lc rgb "#882255" pt 10 dt 4 lw 1.6 ps 0.8 # other 124
set style line 155 lc rgb "#0072B2" pt 13 dt 1 lw 1.6 ps 0.8 # other 125
set style line 156 lc rgb "#999933" pt 14 dt 2 lw 1.6 ps 0.8 # other 126
set style line 157 lc rgb "#009E73" pt 2 dt 3 lw 1.6 ps 0.8 # other 127
set style line 158 lc rgb "#CC79A7" pt 5 dt 4 lw 1.6 ps 0.8 # other 128
set style line 159 lc rgb "#E69F00" pt 8 dt 1 lw 1.6 ps 0.8 # other 129
set style line 160 lc rgb "#56B4E9" pt 3 dt 2 lw 1.6 ps 0.8 # other 130
set style line 161 lc rgb "#000000" pt 6 dt 3 lw 1.6 ps 0.8 # other 131
set style line 162 lc rgb "#8C8C8C" pt 11 dt 4 lw 1.6 ps 0.8 # other 132
set style line 163 lc rgb "#332288" pt 1 dt 1 lw 1.6 ps 0.8 # other 133
set style line 164 lc rgb "#8C510A" pt 12 dt 2 lw 1.6 ps 0.8 # other 134
set style line 165 lc rgb "#882255" pt 15 dt 3 lw 1.6 ps 0.8 # other 135
set style line 166 lc rgb "#0072B2" pt 4 dt 4 lw 1.6 ps 0.8 # other 136
set style line 167 lc rgb "#999933" pt 9 dt 1 lw 1.6 ps 0.8 # other 137
set style line 168 lc rgb "#009E73" pt 7 dt 2 lw 1.6 ps 0.8 # other 138
set style line 169 lc rgb "#CC79A7" pt 10 dt 3 lw 1.6 ps 0.8 # other 139
set style line 170 lc rgb "#E69F00" pt 13 dt 4 lw 1.6 ps 0.8 # other 140
set style line 171 lc rgb "#56B4E9" pt 14 dt 1 lw 1.6 ps 0.8 # other 141
set style line 172 lc rgb "#000000" pt 2 dt 2 lw 1.6 ps 0.8 # other 142
set style line 173 lc rgb "#8C8C8C" pt 5 dt 3 lw 1.6 ps 0.8 # other 143
set style line 174 lc rgb "#332288" pt 8 dt 4 lw 1.6 ps 0.8 # other 144
set style line 175 lc rgb "#8C510A" pt 3 dt 1 lw 1.6 ps 0.8 # other 145
set style line 176 lc rgb "#882255" pt 6 dt 2 lw 1.6 ps 0.8 # other 146
set style line 177 lc rgb "#0072B2" pt 11 dt 3 lw 1.6 ps 0.8 # other 147
set style line 178 lc rgb "#999933" pt 1 dt 4 lw 1.6 ps 0.8 # other 148
set style line 179 lc rgb "#009E73" pt 12 dt 1 lw 1.6 ps 0.8 # other 149
set style line 180 lc rgb "#CC79A7" pt 15 dt 2 lw 1.6 ps 0.8 # other 150
set style line 181 lc rgb "#E69F00" pt 4 dt 3 lw 1.6 ps 0.8 # other 151
set style line 182 lc rgb "#56B4E9" pt 9 dt 4 lw 1.6 ps 0.8 # other 152
set style line 183 lc rgb "#000000" pt 7 dt 1 lw 1.6 ps 0.8 # other 153
set style line 184 lc rgb "#8C8C8C" pt 10 dt 2 lw 1.6 ps 0.8 # other 154
set style line 185 lc rgb "#332288" pt 13 dt 3 lw 1.6 ps 0.8 # other 155
set style line 186 lc rgb "#8C510A" pt 14 dt 4 lw 1.6 ps 0.8 # other 156
set style line 187 lc rgb "#882255" pt 2 dt 1 lw 1.6 ps 0.8 # other 157
set style line 188 lc rgb "#0072B2" pt 5 dt 2 lw 1.6 ps 0.8 # other 158
set style line 189 lc rgb "#999933" pt 8 dt 3 lw 1.6 ps 0.8 # other 159
set style line 190 lc rgb "#009E73" pt 3 dt 4 lw 1.6 ps 0.8 # other 160
set style line 191 lc rgb "#CC79A7" pt 6 dt 1 lw 1.6 ps 0.8 # other 161
set style line 192 lc rgb "#E69F00" pt 11 dt 2 lw 1.6 ps 0.8 # other 162
set style line 193 lc rgb "#56B4E9" pt 1 dt 3 lw 1.6 ps 0.8 # other 163
set style line 194 lc rgb "#000000" pt 12 dt 4 lw 1.6 ps 0.8 # other 164
set style line 195 lc rgb "#8C8C8C" pt 15 dt 1 lw 1.6 ps 0.8 # other 165
