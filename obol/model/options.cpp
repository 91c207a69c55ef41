#include "obol/model/options.h"

namespace obol::model {
namespace {

constexpr double kMaxWidth = 512;
constexpr double kMaxLatent = 1024;

}  // namespace

void GeneratorOptions::describe_network(recipe::Fields& fields) {
  fields.text("architecture", architecture, {"dcgan", "biggan", "resnet"}, "of the network");
  fields.integer("width", width, recipe::between(1, kMaxWidth),
                 "channels of its last hidden layer; the first has four times as many");
  fields.integer("latent", latent, recipe::between(1, kMaxLatent), "numbers that make one image");
  fields.integer("embedding", embedding, recipe::between(1, kMaxLatent),
                 "numbers that stand for a label");
  fields.text("latent_law", latent_law, {"uniform", "normal", "bernoulli"},
              "of the latent numbers: uniform in [-1, 1], standard normal, or 0 and 1");
  fields.text("activation", activation, {"relu", "leaky_relu"}, "of hidden layers");
  fields.text("output", output, {"sigmoid", "tanh"},
              "activation of the last layer; images are in [0, 1] or [-1, 1] accordingly");
}

void GeneratorOptions::describe(recipe::Fields& fields) {
  describe_network(fields);
  fields.text("precision", precision, {"auto", "float", "bfloat16"},
              "of what it computes on a GPU, where auto is bfloat16; weights, gradients' sums and "
              "images are float, and so is everything on a processor");
}

}  // namespace obol::model
