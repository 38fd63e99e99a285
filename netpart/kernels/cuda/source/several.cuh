// Up to 8 views of one shape in one parameter: what several.py packs.
#pragma once
#include "view.cuh"

struct Several {
    View view[8];
};
