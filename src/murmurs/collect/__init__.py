"""The collector: takes submissions over HTTP, keeps their counts, and answers with estimates."""
