"""The paths of the server, one module for each group, and the document that describes them."""
