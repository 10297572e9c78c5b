"""The harness is tested by planting known mistakes: a rung must catch each and name it.

A module of this package holds the mistakes of one theme. Each is a function that wraps a
framework's module, whatever the framework, so that it is wrong in one way; ``@mistake`` says
which rung must name it and to which models it applies. ``catalogue`` lists them, ``planted`` plants
them.
"""
