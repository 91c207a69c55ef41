"""NPZ files open in NumPy and the other way round."""
import json
import unittest

import numpy as np

from support import InFolder, write_idx


class NumPy(InFolder):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(7)

    def info(self, *arguments):
        return json.loads(self.succeeds("data", "info", *arguments, "--json"))

    def test_opens_what_obol_writes(self):
        pictures = self.random.integers(0, 256, (5, 6, 6), dtype=np.uint8)
        write_idx(self.folder / "d", [p.tobytes() for p in pictures], [4, 0, 1, 1, 2])
        self.succeeds("data", "convert", "d", "x.npz")
        with np.load("x.npz") as stored:
            self.assertEqual(stored["images"].dtype, np.uint8)
            np.testing.assert_array_equal(stored["images"], pictures)
            np.testing.assert_array_equal(stored["labels"], [4, 0, 1, 1, 2])

    def test_opens_privatised_records(self):
        pictures = self.random.random((7, 6, 5), dtype=np.float32)
        np.savez_compressed("in.npz", images=pictures, labels=np.arange(7) % 3)
        self.succeeds("privatize", "in.npz", "--mechanism", "gaussian", "--epsilon", "1e6", "--delta",
                      "1e-4", "--radius", "1e3", "--labels", "randomized-response", "--label-epsilon",
                      "40", "--range", "0,1", "--classes", "3", "--out", "private.npz")
        with np.load("private.npz") as stored:
            how = json.loads(stored["privatization"].tobytes())
            self.assertEqual(stored["records"].dtype, np.float32)
            self.assertEqual(how["height"], 6)
            np.testing.assert_allclose(stored["records"], pictures.reshape(7, 30),
                                       atol=7 * how["scale"])
            np.testing.assert_array_equal(stored["labels"], np.arange(7) % 3)

    def test_colour_and_floats_survive_the_way_through_obol(self):
        for pictures in (self.random.random((3, 5, 4, 3), dtype=np.float32),
                         self.random.integers(0, 256, (3, 5, 4, 3), dtype=np.uint8)):
            np.savez("in.npz", images=pictures, labels=np.array([2, 0, 1]))
            floats = pictures.dtype == np.float32
            self.succeeds("data", "convert", "in.npz", "out.npz", *(["--range", "0,1"] if floats else []))
            with np.load("out.npz") as stored:
                np.testing.assert_array_equal(stored["images"], pictures)
            # Also over an older file, which had another declaration.
            self.assertEqual((self.folder / "out.npz.declaration.toml").exists(), floats)

    def test_every_type_order_and_layout_means_the_same_pictures(self):
        pictures = self.random.integers(0, 256, (4, 6, 6), dtype=np.uint8)
        variants = {
            "u1": pictures, "i2": pictures.astype(np.int16), "u4": pictures.astype(np.uint32),
            "i8": pictures.astype(np.int64), "f4": pictures.astype(np.float32),
            "f8": pictures.astype(np.float64), "big": pictures.astype(">i4"),
            "fortran": np.asfortranarray(pictures), "flat": pictures.reshape(4, 36),
            "channel_first": pictures[:, None], "channel_last": pictures[..., None],
        }
        for name, array in variants.items():
            for save in (np.savez, np.savez_compressed):
                with self.subTest(name=name, save=save.__name__):
                    save("in.npz", images=array, labels=np.arange(4))
                    self.succeeds("data", "convert", "in.npz", "out.npz", "--range", "0,255")
                    with np.load("out.npz") as stored:
                        np.testing.assert_allclose(stored["images"] * 255, pictures, atol=1e-4)
                        np.testing.assert_array_equal(stored["labels"], np.arange(4))

    def test_keras_names_give_both_splits(self):
        np.savez("k.npz", x_train=np.zeros((5, 2, 2), np.uint8), y_train=np.zeros(5, int),
                 x_test=np.zeros((3, 2, 2), np.uint8), y_test=np.ones((3, 1), int))
        self.assertEqual(self.info("k.npz")["count"], 5)
        self.assertEqual(self.info("k.npz", "--split", "test")["count"], 3)

    def test_medmnist_names_give_three_splits(self):
        pictures = {split: self.random.integers(0, 256, (count, 4, 5, 3), dtype=np.uint8)
                    for split, count in (("train", 6), ("val", 3), ("test", 2))}
        arrays = {f"{split}_images": images for split, images in pictures.items()}
        arrays.update({f"{split}_labels": np.arange(len(images))[:, None].astype(np.uint8) % 3
                       for split, images in pictures.items()})
        np.savez_compressed("m.npz", **arrays)
        self.succeeds("data", "declare", "m.npz", "--classes", "3")
        for split, name in (("train", "train"), ("val", "validation"), ("test", "test")):
            facts = self.info("m.npz", "--split", name, "--verify")
            self.assertEqual((facts["count"], facts["channels"], len(facts["classes"])),
                             (len(pictures[split]), 3, 3))
            self.succeeds("data", "convert", "m.npz", f"{split}.npz", "--split", name)
            with np.load(f"{split}.npz") as stored:
                np.testing.assert_array_equal(stored["images"], pictures[split])
                np.testing.assert_array_equal(stored["labels"], np.arange(len(pictures[split])) % 3)

    def test_medmnist_files_that_do_not_fit_are_refused(self):
        images, labels = np.zeros((4, 2, 2), np.uint8), np.zeros((4, 1), np.uint8)
        for said, changed in (("[4, 2]", {"train_labels": np.zeros((4, 2), np.uint8)}),
                              ("number of labels must be 4", {"train_labels": labels[1:]}),
                              ("with labels", {"train_labels": None}),
                              ("train_images", {"train_images": None}),
                              ("[4, 2, 2, 2]", {"train_images": np.zeros((4, 2, 2, 2), np.uint8)}),
                              ("label 0 must be a whole number from 0 to 2", {"train_labels": labels + 3})):
            arrays = {"train_images": images, "train_labels": labels, "test_images": images, "test_labels": labels,
                      **changed}
            np.savez("m.npz", **{name: array for name, array in arrays.items() if array is not None})
            with self.subTest(said):
                self.assertIn(said, self.fails(3, "data", "info", "m.npz", "--classes", "3"))
                self.assertEqual(self.info("m.npz", "--classes", "3", "--split", "test")["count"], 4)

    def test_a_file_without_splits_has_no_test_data(self):
        np.savez("x.npz", images=np.zeros((5, 2, 2), np.uint8))
        self.assertIn("x_test", self.fails(3, "data", "info", "x.npz", "--split", "test"))

    def test_bare_npy_is_unlabelled(self):
        np.save("x.npy", self.random.random((7, 3, 3)))
        facts = self.info("x.npy", "--verify")
        self.assertEqual((facts["count"], facts["classes"]), (7, []))

    def test_range_maps_what_networks_like(self):
        pictures = self.random.integers(0, 256, (4, 6, 6), dtype=np.uint8)
        np.savez("in.npz", images=pictures / 127.5 - 1)
        self.assertIn("data.range must be declared", self.fails(2, "data", "convert", "in.npz", "out.npz"))
        self.succeeds("data", "convert", "in.npz", "out.npz", "--range=-1,1")
        with np.load("out.npz") as stored:
            np.testing.assert_allclose(stored["images"] * 255, pictures, atol=1e-3)
        # What was written is declared: it can be read without saying it again.
        self.assertIn('range = "0,1"', (self.folder / "out.npz.declaration.toml").read_text())
        self.succeeds("data", "grid", "out.npz", "--out", "grid.png")

    def test_resize_is_an_area_average(self):
        pictures = self.random.random((2, 8, 8)).astype(np.float32)
        np.savez("in.npz", images=pictures)
        self.succeeds("data", "convert", "in.npz", "out.npz", "--resize", "4x2", "--range", "0,1")
        with np.load("out.npz") as stored:
            expected = pictures.reshape(2, 2, 4, 4, 2).mean(axis=(2, 4))
            np.testing.assert_allclose(stored["images"], expected, atol=1e-6)

    def test_the_range_of_all_but_bytes_is_declared(self):
        pictures = np.zeros((4, 2, 2), np.uint8)
        for array in (pictures.astype(float), pictures.astype(np.int32), pictures.astype(bool)):
            np.savez("in.npz", images=array)
            self.assertIn("data.range must be declared",
                          self.fails(2, "data", "convert", "in.npz", "out.npz"))

    def test_a_declaration_is_proposed_checked_and_used(self):
        np.savez("in.npz", images=self.random.random((6, 4, 5)), labels=np.arange(6) % 3)
        said = self.succeeds("data", "info", "in.npz")
        for line in ('looking at the data', 'obol data declare in.npz', 'range = "0,1"', "classes = 3",
                     'size = "5x4"'):
            self.assertIn(line, said)
        self.assertEqual(self.info("in.npz")["declaration"]["looked_up"], ["range", "classes"])
        self.assertFalse((self.folder / "in.npz.declaration.toml").exists())
        self.succeeds("data", "declare", "in.npz", "--classes", "10")
        text = (self.folder / "in.npz.declaration.toml").read_text()
        self.assertRegex(text, r"\A# [^\n]+\n# Proposed by [^\n]*looked at the data for: range\.\n")
        self.assertIn("classes = 10\n", text)
        self.assertIn("--force", self.fails(2, "data", "declare", "in.npz"))
        self.succeeds("data", "declare", "in.npz", "--force", "--class-names", "a,b,c", "--outside", "map")
        self.assertIn('class_names = "a,b,c"', (self.folder / "in.npz.declaration.toml").read_text())
        self.assertIn("  declared: 3 classes", self.succeeds("data", "info", "in.npz"))
        self.assertIn("in.npz", self.fails(2, "data", "info", "in.npz", "--classes", "4"))
        self.fails(2, "data", "declare", "mnist")
        self.fails(3, "data", "declare", "nowhere.npz")

    def test_what_is_converted_is_declared_as_its_source_is(self):
        np.savez("in.npz", images=np.zeros((6, 4, 4), np.uint8), labels=np.arange(6) % 2)
        self.succeeds("data", "convert", "in.npz", "plain.npz")
        self.assertFalse((self.folder / "plain.npz.declaration.toml").exists())
        (self.folder / "in.npz.declaration.toml").write_text('class_names = "cat,dog,emu"\n')
        self.succeeds("data", "convert", "in.npz", "out/*.png")
        self.succeeds("data", "convert", "in.npz", "shards", "--shards", "2")
        for name in ("out", "shards/shard_0001.npz"):
            self.assertEqual([c["name"] for c in self.info(name)["classes"]], ["cat", "dog", "emu"])
            self.assertEqual(self.info(name)["declaration"]["looked_up"], [])
        self.assertEqual(len(json.loads(self.succeeds("data", "info", "shards", "--per-user", "--json"))), 2)

    def test_bad_values_are_named(self):
        pictures = np.ones((4, 2, 2))
        pictures[2, 1, 0] = np.nan
        np.savez("in.npz", images=pictures)
        self.assertIn("1 records have a number that is not finite",
                      self.succeeds("data", "info", "in.npz", "--verify"))
        self.succeeds("data", "convert", "in.npz", "out.npz", "--range", "0,1")
        with np.load("out.npz") as stored:  # black, and no other record is
            np.testing.assert_array_equal(stored["images"].max(axis=(1, 2)), [1, 1, 0, 1])
        np.savez("in.npz", images=np.zeros((4, 2, 2)), labels=np.arange(3))
        self.fails(3, "data", "info", "in.npz")
        np.savez("in.npz", images=np.zeros((4, 2, 2)), labels=np.array([0, 1, -1, 0]))
        self.assertIn("label 2", self.fails(3, "data", "info", "in.npz"))
        np.savez("in.npz", images=np.zeros((4, 2, 2)), labels=np.array([0, 1, 0.5, 0]))
        self.fails(3, "data", "info", "in.npz")
        np.savez("in.npz", images=np.array([object()] * 4, dtype=object))
        self.fails(3, "data", "info", "in.npz")


if __name__ == "__main__":
    unittest.main()
