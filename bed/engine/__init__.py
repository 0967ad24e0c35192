"""From names and engine files to objects: which models and policies a simulation runs with."""

from bed.engine.build import Sources, connected
from bed.engine.check import Finding, check_engine
from bed.engine.plan import plan_job
from bed.engine.settings import Engine, load_engine
from bed.engine.study import (
    ENGINE_POLICIES,
    EPISODE_POLICIES,
    WORLD_POLICIES,
    Models,
    engine_study,
    file_study,
    world_study,
)
from bed.engine.subject import Subject, evaluated_belief

__all__ = [
    "ENGINE_POLICIES",
    "EPISODE_POLICIES",
    "WORLD_POLICIES",
    "Engine",
    "Finding",
    "Models",
    "Sources",
    "Subject",
    "check_engine",
    "connected",
    "engine_study",
    "evaluated_belief",
    "file_study",
    "load_engine",
    "plan_job",
    "world_study",
]
