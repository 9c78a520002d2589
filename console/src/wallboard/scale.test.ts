import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scaleOf } from './scale.ts';

const board = { tiles: 2, agents: 4, side: true, compact: false };
const wall = (width: number, height: number) => ({
  width,
  height,
  em: Math.min(width / 124, height / 69),
});

test('display - a small board is enlarged, equally on a screen with four times as many pixels', () => {
  assert.equal(scaleOf(board, wall(1920, 1080)), scaleOf(board, wall(3840, 2160)));
  assert.ok(scaleOf(board, wall(1920, 1080)) > 1);
});
test('display - a board that fills the screen keeps its size', () => {
  assert.equal(scaleOf({ ...board, tiles: 12 }, wall(1920, 1080)), 1);
  assert.equal(scaleOf({ ...board, agents: 60 }, wall(1920, 1080)), 1);
});
test('display - a phone in landscape scrolls, at its own size', () => {
  assert.equal(scaleOf(board, { width: 390, height: 844, em: 13 }), 1);
});
