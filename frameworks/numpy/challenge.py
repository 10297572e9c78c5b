"""Which cause the diagnosis of a challenge should name for each trap, as patterns.

None: no answer can show it.
"""

CAUSES = {
    "gradient_past_dropout_1": "does not come back through dropout 1",
    "gradient_past_dropout_2": "does not come back through dropout 2",
    "gradient_past_dropout_3": "does not come back through dropout 3",
}
