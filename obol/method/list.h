// Every method that there is. To add one: its header above, its entry below.
#pragma once

#include "obol/method/dp_merf/entry.h"
#include "obol/method/dp_sinkhorn/entry.h"
#include "obol/method/gs_wgan/entry.h"
#include "obol/method/ldp_wgan/entry.h"
#include "obol/method/summit/entry.h"

namespace obol::method {

template <class... Entry>
struct MethodList {};

using AllMethods =
    MethodList<dp_sinkhorn::Entry, gs_wgan::Entry, ldp_wgan::Entry, dp_merf::Entry, summit::Entry>;

}  // namespace obol::method
