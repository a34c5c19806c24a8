# return: float
# call: rubric(event)
from dataclasses import dataclass, field


@dataclass
class Rubric:
    points: dict = field(default_factory=dict)

    def add(self, name, ok, weight=1.0):
        self.points[name] = weight if ok else 0.0
        return self

    @property
    def total(self):
        return sum(self.points.values())


def rubric(event):
    text = event['outputs'].get('content', '')
    return Rubric().add('long', len(text) > 20).add('polite', 'please' in text.lower(), 0.5).add('ends', text.endswith('.'), 0.25).total
