"""The project: settings, the outside world, and nothing that knows a document."""
