// SPDX-License-Identifier: Apache-2.0
// Holds the layer's place until its first source is written.
