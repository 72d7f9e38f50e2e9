// The native twin of tallybayes.kernels.reference: same names, same arguments, same results.
#include "base/columns.h"

namespace tb {

void register_sums(nb::module_ &m);
void register_moments(nb::module_ &m);
void register_groups(nb::module_ &m);
void register_single_rows(nb::module_ &m);
void register_derive(nb::module_ &m);
void register_flag_counts(nb::module_ &m);
void register_value_counts(nb::module_ &m);
void register_cells(nb::module_ &m);
void register_bags(nb::module_ &m);
void register_code_integers(nb::module_ &m);
void register_softmax(nb::module_ &m);
void register_reals(nb::module_ &m);
void register_flags(nb::module_ &m);
void register_tables(nb::module_ &m);
void register_bag_scores(nb::module_ &m);
void register_events(nb::module_ &m);
void register_binnings(nb::module_ &m);
void register_words(nb::module_ &m);
void register_tokens(nb::module_ &m);
void register_documents(nb::module_ &m);
void register_documents_leave_one_out(nb::module_ &m);
void register_correct_documents(nb::module_ &m);
void register_pairs(nb::module_ &m);
void register_student_leave_one_out(nb::module_ &m);
void register_normal_leave_one_out(nb::module_ &m);
void register_binnings_leave_one_out(nb::module_ &m);
void register_hash_rows(nb::module_ &m);
void register_log_loss(nb::module_ &m);
void register_log_counts(nb::module_ &m);
void register_fit_temperature(nb::module_ &m);
void register_cell_pairs(nb::module_ &m);
void register_cell_pair_sums(nb::module_ &m);
void register_one_dependence(nb::module_ &m);
void register_sort_entries(nb::module_ &m);
void register_csv_cells(nb::module_ &m);
void register_known_cells(nb::module_ &m);
void register_cut_buckets(nb::module_ &m);
void register_find_steps(nb::module_ &m);
void register_log_gamma(nb::module_ &m);

} // namespace tb

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
    tb::register_moments(m);
    tb::register_groups(m);
    tb::register_single_rows(m);
    tb::register_derive(m);
    tb::register_flag_counts(m);
    tb::register_value_counts(m);
    tb::register_cells(m);
    tb::register_bags(m);
    tb::register_code_integers(m);
    tb::register_softmax(m);
    tb::register_reals(m);
    tb::register_flags(m);
    tb::register_tables(m);
    tb::register_bag_scores(m);
    tb::register_events(m);
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
