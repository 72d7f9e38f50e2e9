#include "columns.h"

namespace tb {
void register_binnings(nb::module_ &) {}
} // namespace tb
