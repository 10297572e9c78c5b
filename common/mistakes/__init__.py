"""Known mistakes, planted to test the proof: a rung must catch each and name it.

Each module of this package has the mistakes of one theme. A mistake is a function that wraps any
framework's module so that it is wrong in one way. ``@mistake`` says which rung must name it, and to
which models it applies. ``catalogue`` lists the mistakes, and ``planted`` plants them.
"""
