#include "obol/app/tensor/subject.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "obol/app/request.h"
#include "obol/app/tensor/teacher.h"
#include "obol/base/console.h"
#include "obol/base/error.h"
#include "obol/base/text.h"
#include "obol/data/catalogue.h"
#include "obol/data/fingerprint.h"
#include "obol/evaluate/evaluation.h"
#include "obol/evaluate/suite.h"
#include "obol/method/certificates.h"
#include "obol/method/methods.h"
#include "obol/model/generator_file.h"
#include "obol/model/sample.h"
#include "obol/privacy/certificate.h"
#include "obol/recipe/recipe.h"

namespace obol::app {
namespace {

namespace fs = std::filesystem;

bool is_same_place(const std::string& first, const std::string& second) {
  std::error_code error;
  return first == second || fs::equivalent(first, second, error);
}

bool has_split(const std::string& source, data::ReadOptions options, data::Split split) {
  options.split = split;
  try {
    static_cast<void>(data::describe(source, options));
    return true;
  } catch (const DataError&) {  // what is wrong with it, reading will say
    return false;
  }
}

// What other images declare themselves, and the rest as the run's recipe says; but for what a
// single file has in its header, and not for bytes what numbers mean.
data::Declaration declared_for(const std::string& source, const std::optional<std::string>& range,
                               const data::ReadOptions& of_run) {
  data::ReadOptions plain;
  if (range) plain.declared.range = data::parse_value_range(*range);
  data::Declaration declared = data::declared(source, plain);
  const bool is_told = declared.range.has_value();
  declared.fill_from(of_run.declared);
  if (declared.size == of_run.declared.size) declared.size.reset();
  if (is_told || !declared.range) return declared;
  for (const data::Split split : {data::Split::kTest, data::Split::kTrain}) {
    try {
      plain.split = split;
      if (data::describe(source, plain).are_bytes) declared.range.reset();
      break;
    } catch (const DataError&) {  // what is wrong with it, reading will say
    }
  }
  return declared;
}

// Images that nothing declares have the classes of the generator, where their own are among them.
void add_classes(data::Dataset& data, std::int64_t classes) {
  const data::Declaration all{.classes = std::max(classes, data.num_classes())};
  if (data.class_names == data::Declaration{.classes = data.num_classes()}.names())
    data.class_names = all.names();
}

void require_some(const data::Dataset& data, const char* name, const std::string& where) {
  if (data.count() == 0)
    throw DataError(violation(fmt::format("the {} images", name), "at least one", "none", where));
}

std::int64_t position(const std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? -1 : found - names.begin();
}

// Gives the labels of `data` the numbers of `names`: by the names of its classes, or where those
// are other names, by the numbers that they are.
void align_labels(data::Dataset& data, const std::vector<std::string>& names,
                  const std::string& where) {
  const auto limit = static_cast<std::int64_t>(names.size());
  const std::vector<std::int64_t> counts = data::class_counts(data);
  std::vector<std::int64_t> by_name;
  std::vector<std::int64_t> by_number;
  bool named = true;
  std::string stranger;
  for (std::size_t k = 0; k < data.class_names.size(); ++k) {
    const std::string& name = data.class_names[k];
    by_name.push_back(position(names, name));
    by_number.push_back(parse_integer(name).value_or(-1));
    if (counts[k] == 0) continue;
    named = named && by_name.back() >= 0;
    if (by_number.back() < 0 || by_number.back() >= limit) stranger = name;
  }
  if (!named && !stranger.empty())
    throw DataError(violation("a class of the synthetic images",
                              fmt::format("one of the {} real ones ({})", limit, join(names, ", ")),
                              stranger, where));
  const std::vector<std::int64_t>& numbers = named ? by_name : by_number;
  for (std::int32_t& label : data.labels)
    label = static_cast<std::int32_t>(numbers[static_cast<std::size_t>(label)]);
  data.class_names = names;
}

}  // namespace

Subject::Subject(const EvaluateRequest& request, const torch::Device& device) {
  if (request.count && *request.count < 1) throw BadRequest("count", "at least 1", *request.count);
  if (run::RunFolder::is_run(request.subject))
    read_run(request, device);
  else
    read_file(request);
  const data::ImageShape shape = generator_ ? generator_->shape() : samples_.shape;
  if (shape != real_.shape)
    throw DataError(violation("the real images", data::to_string(shape) + " as the synthetic ones",
                              data::to_string(real_.shape)));
}

void renew_certificate(const run::RunFolder& folder) {
  if (fs::exists(folder.certificate()))
    privacy::write_certificate(folder.path(), method::read_terms(folder.path()));
}

void Subject::check_are_others() const {
  std::optional<Private<data::Dataset>> trained_on;
  try {
    trained_on = training();
  } catch (const Error& error) {
    log_warning("that no image of {} was trained on is not checked: {}", source_, error.what());
    return;
  }
  run::Disclosures log(*folder_);
  const bool is_shared = share_records(*trained_on, real_, log);
  renew_certificate(*folder_);
  if (is_shared)
    throw DataError(violation("the real images", "others than those that the run was trained on",
                              "partly the same", source_));
}

void Subject::read_real(const EvaluateRequest& request) {
  const std::string& other = request.against;
  data::ReadOptions options = described_.options();
  const std::string source = other.empty() ? described_.source.value_or("") : other;
  if (source.empty()) throw BadRequest("against", "given", "missing, and no recipe names data");
  if (is_local_ && other.empty())
    throw BadRequest("against", "given for a run on privatised records", "missing");
  if (folder_ && other.empty() && !may_open_data())
    throw BadRequest("against",
                     "given for a run that is not one's own, whose recipe names no file to open",
                     "missing", folder_->path().string());
  if (!other.empty()) options.declared = declared_for(other, request.range, options);
  const data::Split trained_on = options.split;
  const bool has_test = has_split(source, options, data::Split::kTest);
  options.split = has_test ? data::Split::kTest : data::Split::kTrain;
  const bool is_same = folder_ && described_.source && is_same_place(source, *described_.source);
  if (is_same && options.split == trained_on)
    throw DataError(violation("the real images", "a test split, or other data named by --against",
                              "what the run was trained on", source));
  real_ = data::read(source, options);
  source_ = source;
  // Not the name of a file: where data lie is not to be handed over with the evaluation.
  against_ = has_test ? "test" : "other images";
  if (!real_.is_labelled())
    throw DataError(violation("the real images", "labelled", "not", source));
  if (!data::declared(source, options).classes && generator_)
    add_classes(real_, generator_->num_classes());
  require_some(real_, "real", source);
  // Splits of one data set are declared to be apart; whoever names another may be mistaken.
  if (folder_ && described_.source && !is_local_ && !is_same) check_are_others();
}

void Subject::read_run(const EvaluateRequest& request, const torch::Device& device) {
  folder_ = run::RunFolder::open(request.subject);
  auto recipe = recipe::Recipe::parse(folder_->recipe(), run::kRecipeName);
  described_ = recipe.read<data::RecipeData>("data");
  // A method that this program does not have learnt from private images, as far as it can tell.
  const method::MethodInfo* info =
      method::find_method(method::method_named_in(recipe).value_or(""));
  is_local_ = info != nullptr && info->data == method::DataKind::kPrivatizedRecords;
  folder_->require_generator();
  generator_ = model::load_generator(folder_->generator());
  read_real(request);
  if (generator_->num_classes() > real_.num_classes())
    throw DataError(violation("the classes of the real images",
                              fmt::format("the {} of the generator", generator_->num_classes()),
                              fmt::format("{} others", real_.num_classes())));
  generator_->place(device);
  if (request.teacher) teacher_ = teacher_in(*folder_, *generator_);
  constexpr std::int64_t kCount = 60'000;
  count_ = request.count.value_or(kCount);
}

void Subject::read_file(const EvaluateRequest& request) {
  samples_ = data::read(request.subject);
  if (request.against.empty())
    throw BadRequest("against", "given with a file of samples", "missing");
  read_real(request);
  require_some(samples_, "synthetic", request.subject);
  if (samples_.is_labelled()) align_labels(samples_, real_.class_names, request.subject);
  if (request.count && *request.count < samples_.count())
    samples_ = evaluate::some_of(samples_, *request.count);
}

bool Subject::may_open_data() const {
  return folder_->is_own() || (described_.source && data::is_public(*described_.source));
}

bool Subject::is_labelled() const {
  return generator_ ? generator_->is_conditional() : samples_.is_labelled();
}

std::string Subject::labelled_by() const { return teacher_ ? evaluate::kByTeacher : ""; }

data::Dataset Subject::synthetic(std::int64_t seed) const {
  if (!generator_) return samples_;
  return model::sample(*generator_,
                       {.count = count_, .seed = seed, .teacher = teacher_ ? &*teacher_ : nullptr});
}

const run::RunFolder& Subject::run(const std::string& field) const {
  if (!folder_) throw BadRequest(field, "used with the folder of a run", "given with a file");
  return *folder_;
}

Private<data::Dataset> Subject::training() const {
  if (!described_.source) throw DataError("the run's recipe must name its data, but does not");
  if (is_local_)
    throw InvalidArgument(
        "the images that the run learnt must be at hand for this, but only privatised records are");
  if (!may_open_data())
    throw InvalidArgument(violation(folder_->path().string(), "a run of one's own for this",
                                    "not: what the recipe of another's names is not opened"));
  return data::read_private(*described_.source, described_.options());
}

}  // namespace obol::app
