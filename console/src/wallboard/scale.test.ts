import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scaleOf } from './scale.ts';

const board = { tiles: 2, agents: 4, side: true, compact: false };
const wall = (width: number, height: number) => ({
  width,
  height,
  em: Math.min(width / 124, height / 69),
});

test('display - a board with little on it is drawn larger, the same on a screen of four times as many pixels', () => {
  assert.equal(scaleOf(board, wall(1920, 1080)), scaleOf(board, wall(3840, 2160)));
  assert.ok(scaleOf(board, wall(1920, 1080)) > 1);
});
test('display - a board that fills the screen stays as it is', () => {
  assert.equal(scaleOf({ ...board, tiles: 12 }, wall(1920, 1080)), 1);
  assert.equal(scaleOf({ ...board, agents: 60 }, wall(1920, 1080)), 1);
});
test('display - a telephone turned to the wall scrolls, at its own size', () => {
  assert.equal(scaleOf(board, { width: 390, height: 844, em: 13 }), 1);
});
