"""The live server: a durable log of events beside each model, an HTTP API, and a page."""
