"""What a cut costs."""

__all__ = ["cost", "devices", "group_traffic", "layer_loads", "ledger", "net_profile", "predict", "worker_shares"]
