#include "columns.h"

namespace tb {
void register_observe(nb::module_ &) {}
} // namespace tb
