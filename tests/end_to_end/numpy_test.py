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
                      "60", "--out", "private.npz")
        with np.load("private.npz") as stored:
            how = json.loads(stored["privatization"].tobytes())
            self.assertEqual(stored["records"].dtype, np.float32)
            self.assertEqual(how["height"], 6)
            np.testing.assert_allclose(stored["records"], pictures.reshape(7, 30),
                                       atol=7 * how["scale"])
            np.testing.assert_array_equal(stored["labels"], np.arange(7) % 3)

    def test_colour_and_floats_survive_the_way_through_obol(self):
        for pictures in (self.random.integers(0, 256, (3, 5, 4, 3), dtype=np.uint8),
                         self.random.random((3, 5, 4, 3), dtype=np.float32)):
            np.savez("in.npz", images=pictures, labels=np.array([2, 0, 1]))
            self.succeeds("data", "convert", "in.npz", "out.npz")
            with np.load("out.npz") as stored:
                np.testing.assert_array_equal(stored["images"], pictures)

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
                    self.succeeds("data", "convert", "in.npz", "out.npz")
                    with np.load("out.npz") as stored:
                        np.testing.assert_array_equal(stored["images"], pictures)
                        np.testing.assert_array_equal(stored["labels"], np.arange(4))

    def test_keras_names_give_both_splits(self):
        np.savez("k.npz", x_train=np.zeros((5, 2, 2), np.uint8), y_train=np.zeros(5, int),
                 x_test=np.zeros((3, 2, 2), np.uint8), y_test=np.ones((3, 1), int))
        self.assertEqual(self.info("k.npz")["count"], 5)
        self.assertEqual(self.info("k.npz", "--split", "test")["count"], 3)

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
        self.assertIn("--range", self.fails(3, "data", "convert", "in.npz", "out.npz"))
        self.succeeds("data", "convert", "in.npz", "out.npz", "--range=-1,1")
        with np.load("out.npz") as stored:
            np.testing.assert_allclose(stored["images"] * 255, pictures, atol=1e-3)

    def test_resize_is_an_area_average(self):
        pictures = self.random.random((2, 8, 8)).astype(np.float32)
        np.savez("in.npz", images=pictures)
        self.succeeds("data", "convert", "in.npz", "out.npz", "--resize", "4x2")
        with np.load("out.npz") as stored:
            expected = pictures.reshape(2, 2, 4, 4, 2).mean(axis=(2, 4))
            np.testing.assert_allclose(stored["images"], expected, atol=1e-6)

    def test_bad_values_are_named(self):
        pictures = np.zeros((4, 2, 2))
        pictures[2, 1, 0] = np.nan
        np.savez("in.npz", images=pictures)
        self.assertIn("pixel 2 of record 2", self.fails(3, "data", "convert", "in.npz", "out.npz"))
        self.assertFalse((self.folder / "out.npz").exists())
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
