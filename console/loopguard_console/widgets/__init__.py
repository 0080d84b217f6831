"""The panes of the screens: one file each. They paint a view and post messages; they decide nothing."""
