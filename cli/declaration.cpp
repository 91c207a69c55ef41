#include "cli/declaration.h"

namespace obol::cli {

void add_declaration_options(CLI::App& command, data::DeclarationKeys& keys) {
  command.add_option("--range", keys.range,
                     "LOW,HIGH: the numbers that are black and white, if they are not bytes");
  command.add_option("--classes", keys.classes, "how many, labelled 0, 1, ...; 0: unlabelled");
  command.add_option("--class-names", keys.class_names, "the classes, separated by commas");
  command.add_option("--channels", keys.channels, "of the pictures: 1 or 3");
  command.add_option("--size", keys.size, "WxH of the pictures as they are stored");
  command
      .add_option("--outside", keys.outside,
                  "records that are not as declared: refuse (default) or map")
      ->check(CLI::IsMember({"refuse", "map"}));
}

}  // namespace obol::cli
