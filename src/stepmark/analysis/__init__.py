"""From trials to a judgement: summarize, compare, judge; pure, and the same every time."""
