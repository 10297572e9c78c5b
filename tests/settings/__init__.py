"""Does a framework really have the settings that a module reports?

``frameworks/FOLDER/settings_check.py`` defines

    in_force(module, settings, model) -> {setting: value}

It is called after one training step, in a process in which nothing else ran. It must not repeat
what ``configure`` returned, but ask the framework itself or measure the switch's effect.
"""
