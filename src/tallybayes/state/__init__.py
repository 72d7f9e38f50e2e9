"""What a model is: everything its file holds, nothing derived."""
