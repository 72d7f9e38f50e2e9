// The native twin of tallybayes.kernels.reference: same names, same arguments, same results.
#include "base/columns.h"

namespace {

// What a kernel refuses is a DataError, as from the reference kernels.
void translate(const std::exception_ptr &thrown, void *) {
    try {
        std::rethrow_exception(thrown);
    } catch (const tb::Refused &refused) {
        nb::object type = nb::module_::import_("tallybayes.errors").attr("DataError"), got;
        if (refused.is_real) got = nb::float_(refused.real);
        else if (!refused.is_shape) got = nb::int_(refused.got.at(0));
        else {
            nb::list sizes;
            for (int64_t size : refused.got) sizes.append(size);
            got = nb::tuple(sizes);
        }
        nb::object row = refused.row < 0 ? nb::none() : nb::object(nb::int_(refused.row));
        nb::object error = type(refused.expected.c_str(), nb::arg("got") = got, nb::arg("row") = row);
        PyErr_SetObject(type.ptr(), error.ptr());
    }
}

} // namespace

NB_MODULE(_native, m) {
    nb::register_exception_translator(translate);
    m.attr("INSTRUCTION_SET") = tb::instruction_set_name();
    m.doc() = "Native kernels; tallybayes.kernels.reference defines what each returns.";
    tb::register_sums(m);
    tb::register_groups(m);
    tb::register_single_rows(m);
    tb::register_derive(m);
    tb::register_flag_counts(m);
    tb::register_value_counts(m);
    tb::register_cells(m);
    tb::register_bags(m);
    tb::register_code_integers(m);
    tb::register_score(m);
    tb::register_binnings(m);
    tb::register_words(m);
    tb::register_tokens(m);
    tb::register_documents(m);
    tb::register_documents_leave_one_out(m);
    tb::register_correct_documents(m);
    tb::register_pairs(m);
    tb::register_student_leave_one_out(m);
    tb::register_normal_leave_one_out(m);
    tb::register_binnings_leave_one_out(m);
    tb::register_hash_rows(m);
    tb::register_log_loss(m);
    tb::register_log_counts(m);
    tb::register_fit_temperature(m);
    tb::register_cell_pairs(m);
    tb::register_cell_pair_sums(m);
    tb::register_one_dependence(m);
    tb::register_sort_entries(m);
    tb::register_csv_cells(m);
    tb::register_known_cells(m);
    tb::register_cut_buckets(m);
    tb::register_find_steps(m);
    tb::register_log_gamma(m);
}
