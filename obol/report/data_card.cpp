#include "obol/report/data_card.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "obol/base/text.h"
#include "obol/report/evaluation_html.h"

namespace obol::report {
namespace {

std::string what_it_is(const CardFacts& facts) {
  const data::Dataset& samples = facts.samples;
  const privacy::Certificate& certificate = *facts.run.certificate;
  const privacy::LedgerRecord& ledger = certificate.ledger;
  std::string text = "| | |\n| --- | --- |\n";
  const auto row = [&](std::string_view name, const std::string& value) {
    text += fmt::format("| {} | {} |\n", name, value);
  };
  row("images", fmt::format("{}, synthetic, in `samples.npz`", counted(samples.count())));
  row("size", fmt::format("{} pixels, {}, values from 0 to 255", to_string(samples.shape),
                          samples.shape.channels == 1 ? "grey" : "in colour"));
  if (samples.is_labelled()) row("classes", counted(samples.num_classes()));
  row("made from",
      fmt::format("{} private records{}", counted(ledger.header.records),
                  facts.run.has_public_data() ? fmt::format(" ({})", *facts.run.data.source)
                                              : std::string()));
  // A method may have no such choice; "none" would say that nothing is private.
  const auto& barrier = facts.run.privacy.barrier;
  const std::string clipped =
      barrier ? fmt::format(", barrier `{}`", method::name_of(*barrier)) : std::string();
  row("method",
      fmt::format("{}{}; every value is in `recipe.toml`", markdown(facts.run.method), clipped));
  row("trained by", fmt::format("obol {} ({})", markdown(ledger.version), markdown(ledger.commit)));
  row("drawn with", facts.seed ? fmt::format("seed {}", *facts.seed) : "secure random numbers");
  return text;
}

std::string privacy_part(const privacy::Certificate& certificate) {
  const privacy::Guarantee& guarantee = certificate.guarantee;
  std::string text =
      fmt::format("**Epsilon {} at delta {}.** {}\n\n", rounded_up(guarantee.epsilon),
                  rounded_up(guarantee.delta), privacy::in_words(guarantee));
  if (certificate.published)
    text += privacy::in_words(*certificate.published, guarantee.epsilon) + "\n\n";
  text +=
      "That holds for everything here that was made from the private records, however it is used "
      "and whatever else is known: the generator, the images, and any number of images more. It "
      "does not cover:\n\n";
  for (const std::string& item : certificate.not_covered)
    text += fmt::format("- {}\n", markdown(item));
  return text;
}

std::string quality_sentence(const RunFacts& run) {
  const std::optional<Evaluation>& evaluation = run.evaluation;
  const ClassifierScore* score = evaluation ? main_score(*evaluation) : nullptr;
  if (score == nullptr || !score->accuracy) return "How good the images are has not been measured.";
  // The samples beside the card have the teacher's labels, however it was evaluated.
  const bool has_other_labels = run.has_teacher && evaluation->labelled_by != evaluate::kByTeacher;
  return fmt::format(
      "A classifier ({}) that was trained on images of this generator alone{} is right about {} of "
      "real images that were held out; more is in `evaluation.json`. The guarantee is for the "
      "records that were trained on, not for those held out.",
      markdown(classifier_name(score->classifier)),
      has_other_labels ? ", with the labels that it was asked for," : "",
      percent(*score->accuracy));
}

// A line of the list of limits, or nothing.
std::string junk_line(const std::optional<Evaluation>& evaluation) {
  const Quality* junk = evaluation ? find_quality(*evaluation, evaluate::kJunkRate) : nullptr;
  if (junk == nullptr || !junk->value) return "";
  return fmt::format(
      "- {} of the images are junk: they lie further from real images of their class than 99.9% of "
      "real images do.\n",
      percent(*junk->value));
}

std::string class_table(const CardFacts& facts) {
  const data::Dataset& samples = facts.samples;
  if (!samples.is_labelled()) return "The images have no labels.\n";
  std::vector<std::string> names = facts.run.class_names();
  if (names.size() != samples.class_names.size()) names = samples.class_names;
  const std::vector<std::int64_t> counts = data::class_counts(samples);
  std::string text =
      facts.run.has_teacher
          ? fmt::format(
                "Labels were given by a private classifier: each image has the class that "
                "`{}` sees in it, not the one that the generator was asked for.\n\n",
                run::kTeacherName)
          : "";
  text +=
      "As drawn, which says nothing of how common each is among the private records.\n\n"
      "| label | class | images |\n| ---: | --- | ---: |\n";
  for (std::size_t k = 0; k < names.size(); ++k)
    text += fmt::format("| {} | {} | {} |\n", k, markdown(names[k]), counted(counts[k]));
  return text;
}

std::string file_table(const std::vector<std::string>& files) {
  static constexpr std::array<std::pair<const char*, const char*>, 14> kMeanings = {{
      {"samples.npz", "the images: `images` and `labels`, for `numpy.load`"},
      {"samples.png", "some of them, a row for each class"},
      {run::kGeneratorName, "the generator: numbers and shapes, for `obol sample`"},
      {run::kTeacherName,
       "the private classifier that gave the labels, likewise: `obol sample FOLDER` uses it"},
      {run::kScriptName,
       "the generator as TorchScript, for `torch.jit.load`: a program, to be opened if you trust "
       "who signed this"},
      {privacy::kCertificateName, "what was spent, for programs"},
      {privacy::kCertificateTextName, "the same, for people"},
      {privacy::kLedgerName, "every release, from which the certificate is recomputed"},
      {run::kReportName, "a page about the training, to be looked at"},
      {run::kEvaluationName, "how good the images are, as measured"},
      {run::kRecipeName, "how it was trained"},
      {"signer.pem", "the public key of who signed"},
      {"SHA256SUMS", "the sums of all these files"},
      {"SHA256SUMS.sig", "the signature of the sums (Ed25519)"},
  }};
  std::string text = "| file | what it is |\n| --- | --- |\n";
  for (const auto& [name, meaning] : kMeanings)
    if (std::find(files.begin(), files.end(), name) != files.end())
      text += fmt::format("| `{}` | {} |\n", name, meaning);
  return text;
}

}  // namespace

std::string data_card(const CardFacts& facts) {
  const bool is_signed =
      std::find(facts.files.begin(), facts.files.end(), "signer.pem") != facts.files.end();
  std::string text = fmt::format("# {}\n\n", markdown(facts.run.title()));
  if (facts.run.heading.summary)
    text += fmt::format("From the recipe: {}\n\n", markdown(*facts.run.heading.summary));
  text += "Synthetic images, and the generator that drew them. No record was copied here.\n\n";
  text += what_it_is(facts) + "\n## Privacy\n\n" + privacy_part(*facts.run.certificate);
  text +=
      "\n## What it is for\n\n"
      "To train, test and teach where the private records may not go: models, software, people. It "
      "is not for conclusions about any one person, nor for counting how common something is; what "
      "matters must be checked on real data.\n";
  text += fmt::format(
      "\n## Limits\n\n- {}\n{}"
      "- What is rare among the private records is drawn worst, or not at all: hiding single "
      "records hides small groups too.\n"
      "- What was one-sided in the private records is so here.\n"
      "- What holds for many records can be learned from these images. That is their purpose, and "
      "may concern people whose records were never among them.\n",
      quality_sentence(facts.run), junk_line(facts.run.evaluation));
  text += "\n## Classes\n\n" + class_table(facts);
  text += "\n## Files\n\n" + file_table(facts.files);
  text += fmt::format(
      "\n## To check it\n\n"
      "`obol verify FOLDER{}` compares every file with its sum{}, and recomputes the guarantee "
      "from the ledger. Without Obol: `sha256sum -c SHA256SUMS`{}.\n",
      is_signed ? " --key PUBLIC.pem" : "",
      is_signed ? " and the sums with the signature of the key that you know to be the curator's"
                : "",
      is_signed ? ", and `openssl pkeyutl -verify -rawin -pubin -inkey PUBLIC.pem -in SHA256SUMS "
                  "-sigfile SHA256SUMS.sig`"
                : "");
  return text;
}

}  // namespace obol::report
