"""The screens: what is composed of which panes, and what the keys do there."""
