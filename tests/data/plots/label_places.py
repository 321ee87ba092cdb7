# SPDX-License-Identifier: MIT
"""label_places.py - plots/labels.py on points that crowd each other: every text has a place, inside, and meets no
other text and no point; the same points give the same places.
"""

import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "plots"))
from labels import Layout  # noqa: E402


def meet(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def check(at):
    frame, sizes = (0, 0, 500, 300), [(110 + i % 5 * 8, 10) for i in range(len(at))]
    layout = Layout(at, sizes, frame)
    places = layout.best()
    if places != Layout(at, sizes, frame).best():
        sys.exit("label_places: the same points, other places")
    if len(places) != len(at):
        sys.exit(f"label_places: {len(at) - len(places)} texts without a place")
    boxes = []
    for i, (side, dx, dy) in places.items():
        x, (wide, high) = at[i][0] + dx, sizes[i]
        left = {1: x, -1: x - wide, 0: x - wide / 2}[side]
        boxes.append((left, at[i][1] + dy - high / 2, left + wide, at[i][1] + dy + high / 2))
    for i, box in enumerate(boxes):
        if box[0] < 0 or box[1] < 0 or box[2] > 500 or box[3] > 300 or any(meet(box, other) for other in boxes[:i]):
            sys.exit(f"label_places: text {i} meets another one, or the edge")
        if any(box[0] < x < box[2] and box[1] < y < box[3] for x, y in at):
            sys.exit(f"label_places: text {i} covers a point")


rng = random.Random(5)
check([(20 + 460 * (i % 4) / 3, 60 + 4 * i) for i in range(14)])
check([(480, 100 + 5 * i) for i in range(12)])
check([(250 + rng.gauss(0, 60), 150 + rng.gauss(0, 20)) for _ in range(14)])
print("40 texts have their places")
