"""Messages, addresses and values that the coordinator and its workers share."""

__all__ = [
    "address",
    "communication_codec",
    "context_end",
    "cores",
    "due_steps",
    "elastic_choice",
    "framing",
    "nccl_choice",
    "peer_links",
    "placement",
    "process_limits",
    "seal_choice",
    "seats",
    "secure_link",
    "sent_regions",
    "signals",
    "token",
    "transport_choice",
    "worker_devices",
    "written_ranges",
]
