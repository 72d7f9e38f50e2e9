// The native twin of tallybayes.kernels.reference: same names, same arguments, same results.
#include "columns.h"

NB_MODULE(_native, m) {
    m.doc() = "Native kernels; tallybayes.kernels.reference defines what each returns.";
    tb::register_sums(m);
    tb::register_grouped(m);
    tb::register_row(m);
    tb::register_derive(m);
    tb::register_observe(m);
    tb::register_score(m);
    tb::register_binnings(m);
    tb::register_words(m);
    tb::register_tokens(m);
    tb::register_documents(m);
    tb::register_left_out(m);
    tb::register_pairs(m);
    tb::register_student_left_out(m);
    tb::register_normal_left_out(m);
    tb::register_binnings_left_out(m);
}
