#include "columns.h"

namespace tb {
void register_row(nb::module_ &) {}
} // namespace tb
