#include "obol/privacy/gaussian.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "obol/privacy/pld.h"

namespace obol::privacy {
namespace {

void expect_relative(double actual, double expected, double tolerance) {
  EXPECT_LE(std::abs(actual - expected), tolerance * std::abs(expected))
      << actual << " against " << expected;
}

double analytic(double epsilon, double delta) {
  return calibrate_gaussian(Epsilon{epsilon}, Delta{delta}, GaussianFormula::kAnalytic);
}

double zhao(double epsilon, double delta) {
  return calibrate_gaussian(Epsilon{epsilon}, Delta{delta}, GaussianFormula::kZhao);
}

// The hockey-stick divergence of N(1, sigma^2) from N(0, sigma^2), integrated.
double integrated_delta(double sigma, double epsilon) {
  const double step = sigma * 1e-4;
  // Beyond this point the first density is more than e^epsilon times the second.
  const double start = epsilon * sigma * sigma + 0.5;
  double sum = 0;
  for (int i = 0; i < 400000; ++i) {
    const double x = start + (i + 0.5) * step;
    const double first = -(x - 1) * (x - 1) / (2 * sigma * sigma);
    const double second = epsilon - x * x / (2 * sigma * sigma);
    sum += std::exp(first) - std::exp(second);
  }
  return sum * step / (sigma * std::sqrt(2 * std::numbers::pi));
}

TEST(GaussianDelta, IsTheHockeyStickDivergence) {
  for (const double sigma : {0.3, 1.0, 4.0})
    for (const double epsilon : {0.0, 0.5, 3.0})
      expect_relative(gaussian_delta(sigma, Epsilon{epsilon}), integrated_delta(sigma, epsilon),
                      1e-6);
}

TEST(GaussianDelta, FallsAndNeverOverflows) {
  double before = 1;
  for (const double epsilon : {0.0, 1.0, 10.0, 190.0, 210.0, 300.0, 900.0, 1e5}) {
    const double delta = gaussian_delta(0.05, Epsilon{epsilon});
    EXPECT_TRUE(delta >= 0 && delta <= before) << epsilon;
    before = delta;
  }
  EXPECT_EQ(before, 0);
  EXPECT_GT(gaussian_delta(0.05, Epsilon{300}), 1e-10);
}

TEST(CalibrateGaussian, AgreesWithIndependentComputations) {
  expect_relative(analytic(0.5, 1e-5), 7.031826675582, 1e-9);
  expect_relative(analytic(1, 1e-5), 3.730631634816, 1e-9);
  expect_relative(analytic(10, 1e-4), 0.4552651305468, 1e-9);
  expect_relative(zhao(0.5, 1e-5), 9.110506067753, 1e-9);
  expect_relative(zhao(1, 1e-5), 4.60885808304, 1e-9);
  expect_relative(zhao(10, 1e-4), 0.4963268629667, 1e-9);
  expect_relative(calibrate_gaussian(Epsilon{0.5}, Delta{1e-5}, GaussianFormula::kClassic),
                  std::sqrt(2 * std::log(1.25e5)) / 0.5, 1e-9);
}

TEST(CalibrateGaussian, IsEnoughAndHardlyMore) {
  for (const double epsilon : {1e-3, 0.1, 1.0, 10.0, 500.0})
    for (const double delta : {1e-12, 1e-5, 0.3}) {
      const double sigma = analytic(epsilon, delta);
      EXPECT_LE(gaussian_delta(sigma, Epsilon{epsilon}), delta);
      EXPECT_GT(gaussian_delta(sigma * (1 - 1e-6), Epsilon{epsilon}), delta);
      EXPECT_GE(zhao(epsilon, delta), sigma) << "sufficient, never better than exact";
    }
}

TEST(GaussianEpsilon, IsTheInverse) {
  for (const double epsilon : {1e-3, 0.1, 1.0, 10.0, 500.0})
    for (const double delta : {1e-12, 1e-5, 0.3})
      expect_relative(gaussian_epsilon(analytic(epsilon, delta), Delta{delta}).value(), epsilon,
                      1e-8);
}

TEST(GaussianEpsilon, ComposesBySquares) {
  // 100 releases at multiplier 5, by an independent tight accountant.
  expect_relative(gaussian_epsilon(0.5, Delta{1e-5}).value(), 9.997256146434301, 1e-9);
}

struct KnownEpsilon {
  double multiplier;
  double delta;
  double below;  // the largest double that is not above the smallest epsilon that holds
  double above;  // the smallest that is not below it
};

// Made with mpmath: the root of Phi(1/(2 s) - e s) - exp(e) Phi(-1/(2 s) - e s) = delta by
// bisection with 160 digits (400 below a multiplier of 0.05), Phi(x) = erfc(-x / sqrt(2)) / 2,
// multiplier and delta being the doubles that are written here.
const std::vector<KnownEpsilon> kKnownEpsilons = {
    // clang-format off
    {0.001, 1e-300, 537046.1143780625, 537046.1143780627},
    {0.001, 1e-100, 521272.4640495208, 521272.46404952084},
    {0.001, 1e-40, 513309.927968731, 513309.92796873103},
    {0.001, 1e-19, 509012.2756331898, 509012.2756331899},
    {0.001, 1e-18, 508756.29470235656, 508756.2947023566},
    {0.001, 1e-14, 507649.6318991766, 507649.63189917663},
    {0.001, 1e-12, 507033.4873264621, 507033.4873264622},
    {0.001, 1e-10, 506360.3440699774, 506360.34406997747},
    {0.001, 1e-08, 505611.0040400496, 505611.0040400497},
    {0.001, 1e-05, 504263.89292065403, 504263.8929206541},
    {0.001, 0.001, 503089.2338484387, 503089.2338484388},
    {0.001, 0.1, 501280.5522061056, 501280.55220610567},
    {0.001, 0.4999, 499999.2506632887, 499999.25066328875},
    {0.02, 1e-300, 3101.6065721413097, 3101.60657214131},
    {0.02, 1e-100, 2312.8395292505165, 2312.839529250517},
    {0.02, 1e-40, 1914.6595186414463, 1914.6595186414465},
    {0.02, 1e-19, 1699.7442250912686, 1699.7442250912688},
    {0.02, 1e-18, 1686.943130721521, 1686.9431307215211},
    {0.02, 1e-14, 1631.6009963658735, 1631.6009963658737},
    {0.02, 1e-12, 1600.7886583055772, 1600.7886583055774},
    {0.02, 1e-10, 1567.1258274830273, 1567.1258274830275},
    {0.02, 1e-08, 1529.6524079822354, 1529.6524079822357},
    {0.02, 1e-05, 1462.2850159647796, 1462.2850159647799},
    {0.02, 0.001, 1403.5414143388964, 1403.5414143388966},
    {0.02, 0.1, 1313.0903035525137, 1313.090303552514},
    {0.02, 0.4999, 1249.0126688306714, 1249.0126688306716},
    {0.3, 1e-300, 128.8214382132189, 128.82143821321893},
    {0.3, 1e-100, 76.15387676449781, 76.15387676449782},
    {0.3, 1e-40, 49.52281846995943, 49.52281846995944},
    {0.3, 1e-19, 35.11618544678489, 35.1161854467849},
    {0.3, 1e-18, 34.25678197717016, 34.256781977170164},
    {0.3, 1e-14, 30.539043102031407, 30.53904310203141},
    {0.3, 1e-12, 28.46726660254994, 28.467266602549945},
    {0.3, 1e-10, 26.201997075813697, 26.2019970758137},
    {0.3, 1e-08, 23.67766972527999, 23.677669725279994},
    {0.3, 1e-05, 19.130767834361922, 19.130767834361926},
    {0.3, 0.001, 15.153356399099104, 15.153356399099106},
    {0.3, 0.1, 8.992398553058004, 8.992398553058006},
    {0.3, 0.4999, 4.581022819445795, 4.581022819445796},
    {1, 1e-300, 37.4488479121391, 37.44884791213911},
    {1, 1e-100, 21.62750809364838, 21.627508093648384},
    {1, 1e-40, 13.610920940989338, 13.61092094098934},
    {1, 1e-19, 9.257660401462902, 9.257660401462903},
    {1, 1e-18, 8.99718173366374, 8.997181733663743},
    {1, 1e-14, 7.8687364684129, 7.868736468412901},
    {1, 1e-12, 7.238494420178858, 7.238494420178859},
    {1, 1e-10, 6.547924066864951, 6.547924066864952},
    {1, 1e-08, 5.776098382890268, 5.776098382890269},
    {1, 1e-05, 4.3771780956812245, 4.377178095681225},
    {1, 0.001, 3.138670548582939, 3.1386705485829394},
    {1, 0.1, 1.1603338527916172, 1.1603338527916174},
    {1, 0.4999, 0.0, 0.0},
    {5, 1e-300, 7.401180495047812, 7.401180495047813},
    {5, 1e-100, 4.2306523373357106, 4.230652337335711},
    {5, 1e-40, 2.618672241388114, 2.6186722413881145},
    {5, 1e-19, 1.7371926571370466, 1.7371926571370468},
    {5, 1e-18, 1.6841278813861882, 1.6841278813861884},
    {5, 1e-14, 1.4535321055088997, 1.4535321055088999},
    {5, 1e-12, 1.3241111431653734, 1.3241111431653736},
    {5, 1e-10, 1.1816013082342474, 1.1816013082342476},
    {5, 1e-08, 1.0211706150235096, 1.0211706150235098},
    {5, 1e-05, 0.7255217508577958, 0.7255217508577959},
    {5, 0.001, 0.45392015574171274, 0.4539201557417128},
    {5, 0.1, 0.0, 0.0},
    {37.5, 1e-300, 0.9830615028914853, 0.9830615028914854},
    {37.5, 1e-100, 0.5592396944040138, 0.5592396944040139},
    {37.5, 1e-40, 0.3427603380622841, 0.3427603380622842},
    {37.5, 1e-19, 0.22319606178046225, 0.22319606178046228},
    {37.5, 1e-18, 0.2159325074340765, 0.21593250743407652},
    {37.5, 1e-14, 0.1842153768193056, 0.18421537681930564},
    {37.5, 1e-12, 0.16627337045581536, 0.1662733704558154},
    {37.5, 1e-10, 0.14635340074880784, 0.14635340074880787},
    {37.5, 1e-08, 0.1236445125970421, 0.12364451259704211},
    {37.5, 1e-05, 0.08044481464159639, 0.0804448146415964},
    {37.5, 0.001, 0.03728667653622131, 0.037286676536221315},
    {37.5, 0.1, 0.0, 0.0},
    {1000.0, 1e-300, 0.036762916699487856, 0.03676291669948786},
    {1000.0, 1e-100, 0.02080217411496786, 0.020802174114967865},
    {1000.0, 1e-40, 0.012585654520759987, 0.012585654520759989},
    {1000.0, 1e-19, 0.007966311666457386, 0.007966311666457388},
    {1000.0, 1e-18, 0.007680895744259113, 0.007680895744259114},
    {1000.0, 1e-14, 0.006422719112209854, 0.006422719112209855},
    {1000.0, 1e-12, 0.005699546468426282, 0.005699546468426283},
    {1000.0, 1e-10, 0.004882455278973522, 0.004882455278973523},
    {1000.0, 1e-08, 0.003924011098957864, 0.003924011098957865},
    {1000.0, 1e-05, 0.0019387249698601097, 0.00193872496986011},
    {1000.0, 0.001, 0.0, 0.0},
    {1000000.0, 1e-300, 3.657431251424889e-05, 3.6574312514248894e-05},
    {1000000.0, 1e-100, 2.046847317762364e-05, 2.0468473177623644e-05},
    {1000000.0, 1e-40, 1.2031103368863356e-05, 1.2031103368863357e-05},
    {1000000.0, 1e-19, 7.0773847677048565e-06, 7.077384767704857e-06},
    {1000000.0, 1e-18, 6.757159940598833e-06, 6.757159940598834e-06},
    {1000000.0, 1e-14, 5.304508384767321e-06, 5.304508384767322e-06},
    {1000000.0, 1e-12, 4.424892759089482e-06, 4.4248927590894825e-06},
    {1000000.0, 1e-10, 3.3630157621380046e-06, 3.363015762138005e-06},
    {1000000.0, 1e-08, 1.938356675940721e-06, 1.9383566759407216e-06},
    {1000000.0, 1e-05, 0.0, 0.0},
    {10000000000.0, 1e-300, 3.6321993986540052e-09, 3.6321993986540057e-09},
    {10000000000.0, 1e-100, 2.0015657185511246e-09, 2.001565718551125e-09},
    {10000000000.0, 1e-40, 1.125118588939638e-09, 1.1251185889396383e-09},
    {10000000000.0, 1e-19, 5.69907335888277e-10, 5.699073358882771e-10},
    {10000000000.0, 1e-18, 5.304507915294645e-10, 5.304507915294646e-10},
    {10000000000.0, 1e-14, 3.3630153259707034e-10, 3.363015325970704e-10},
    {10000000000.0, 1e-12, 1.9383563073269673e-10, 1.9383563073269676e-10},
    {10000000000.0, 1e-10, 0.0, 0.0},
    {1000000000000000.0, 1e-300, 3.600411749476108e-14, 3.6004117494761085e-14},
    {1000000000000000.0, 1e-100, 1.9434957039668703e-14, 1.9434957039668706e-14},
    {1000000000000000.0, 1e-40, 1.019547501099915e-14, 1.0195475010999151e-14},
    {1000000000000000.0, 1e-19, 3.3630153259270828e-15, 3.363015325927083e-15},
    {1000000000000000.0, 1e-18, 2.7178055152317574e-15, 2.7178055152317578e-15},
    {1000000000000000.0, 1e-14, 0.0, 0.0},
    {1e+16, 1e-300, 3.594020585352231e-15, 3.594020585352232e-15},
    {1e+16, 1e-100, 1.9316743974000873e-15, 1.9316743974000877e-15},
    {1e+16, 1e-40, 9.971407682506875e-16, 9.971407682506877e-16},
    {1e+16, 1e-19, 2.717805515231757e-16, 2.7178055152317573e-16},
    {1e+16, 1e-18, 1.938356307290102e-16, 1.9383563072901023e-16},
    {1e+16, 1e-14, 0.0, 0.0},
    {1e+18, 1e-300, 3.5812041452135887e-17, 3.581204145213589e-17},
    {1e+18, 1e-100, 1.9078143928457222e-17, 1.9078143928457225e-17},
    {1e+18, 1e-40, 9.508066840657596e-18, 9.508066840657598e-18},
    {1e+18, 1e-19, 9.023463475100345e-19, 9.023463475100347e-19},
    {1e+18, 1e-18, 0.0, 0.0},
    {0.5, 0.6820068026449488, 0.004300780425315744, 0.004300780425315745},
    {0.5, 0.6826894914543964, 4.3029744611038424e-09, 4.302974461103843e-09},
    {10, 0.03983773406506818, 8.309296934021459e-05, 8.30929693402146e-05},
    {10, 0.03987761163686731, 8.306777238509949e-11, 8.30677723850995e-11},
    {10000.0, 3.985433379549715e-05, 7.981705276397594e-08, 7.981705276397595e-08},
    {10000.0, 3.9894227983626445e-05, 7.979163928279596e-14, 7.979163928279598e-14},
    {1000000000.0, 3.9854333812103126e-10, 7.981386974653649e-13, 7.98138697465365e-13},
    {1000000000.0, 3.989422800024904e-10, 7.97884607163101e-19, 7.978846071631011e-19},
    {1e+17, 3.985433381210312e-18, 7.981386971471553e-21, 7.981386971471555e-21},
    {1e+17, 3.989422800024904e-18, 7.978845906578728e-27, 7.97884590657873e-27},
    // clang-format on
};

TEST(GaussianEpsilon, IsNeverBelowTheTruthAndItsLowerBoundNeverAbove) {
  for (const auto& [multiplier, delta, below, above] : kKnownEpsilons) {
    const double upper = gaussian_epsilon(multiplier, Delta{delta}).value();
    const double lower = gaussian_epsilon_lower(multiplier, Delta{delta}).value();
    EXPECT_GE(upper, above) << multiplier << " at " << delta;
    EXPECT_LE(lower, below) << multiplier << " at " << delta;
    // 1e-12 of delta is given away on either side, which matters where delta alone nearly suffices.
    EXPECT_LE(upper, above * (1 + 1e-11) + 1e-11 / multiplier) << multiplier << " at " << delta;
    EXPECT_GE(lower, below * (1 - 1e-11) - 1e-11 / multiplier) << multiplier << " at " << delta;
  }
}

// The accountant that prints them.
TEST(PldAccountant, OfGaussiansAloneEnclosesTheTruth) {
  for (const auto& [multiplier, delta, below, above] : kKnownEpsilons) {
    PldAccountant accountant;
    accountant.compose(Gaussian{.noise_multiplier = 3 * multiplier, .count = 9});
    const EpsilonBounds bounds = accountant.epsilon(Delta{delta});
    EXPECT_GE(bounds.upper, above * (1 - 1e-15)) << multiplier << " at " << delta;
    EXPECT_LE(bounds.lower, below * (1 + 1e-15)) << multiplier << " at " << delta;
    EXPECT_LE(bounds.lower, bounds.upper);
  }
}

TEST(CalibrateGaussian, IsNeverLessThanWhatTheEpsilonTakes) {
  for (const auto& [multiplier, delta, below, above] : kKnownEpsilons) {
    if (below == 0) continue;
    EXPECT_GE(analytic(below, delta), multiplier) << "for " << below << " at " << delta;
    EXPECT_GE(gaussian_delta(multiplier, Epsilon{below}), delta) << multiplier;
  }
}

TEST(GaussianEpsilon, IsZeroWhereDeltaAloneSuffices) {
  EXPECT_EQ(gaussian_epsilon(1000, Delta{0.1}).value(), 0);
  EXPECT_GT(gaussian_epsilon(1000, Delta{1e-12}).value(), 0);
}

TEST(CalibrateGaussian, RefusesWhatTheFormulasDoNotCover) {
  const auto classic = GaussianFormula::kClassic;
  EXPECT_THROW((void)calibrate_gaussian(Epsilon{1}, Delta{1e-5}, classic), InvalidArgument);
  EXPECT_THROW((void)calibrate_gaussian(Epsilon{0}, Delta{1e-5}, classic), InvalidArgument);
  EXPECT_THROW((void)zhao(1, 0.5), InvalidArgument);
  EXPECT_THROW((void)zhao(0, 1e-5), InvalidArgument);
  EXPECT_THROW((void)analytic(1, 0), InvalidArgument);
  EXPECT_THROW((void)gaussian_epsilon(1, Delta{0}), InvalidArgument);
  EXPECT_THROW((void)zhao_epsilon(1, Delta{0.5}), InvalidArgument);
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity()})
    EXPECT_THROW((void)gaussian_delta(bad, Epsilon{1}), InvalidArgument);
}

TEST(ZhaoEpsilon, IsWhatItsFormulaWasCalibratedFor) {
  for (const double epsilon : {0.1, 1.0, 35.0, 1268.0}) {
    const double multiplier =
        calibrate_gaussian(Epsilon{epsilon}, Delta{1e-4}, GaussianFormula::kZhao);
    EXPECT_NEAR(zhao_epsilon(multiplier, Delta{1e-4}).value(), epsilon, 1e-9 * epsilon);
    EXPECT_LE(gaussian_epsilon(multiplier, Delta{1e-4}).value(), epsilon);
  }
}

}  // namespace
}  // namespace obol::privacy
