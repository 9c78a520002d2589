import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordLines } from '../../../../test/support/record-lines.ts';
import { recordedCall, recordedCalls } from '../../../../test/support/recorded-calls.ts';
import { buildRecord } from './build.ts';

const build = (name: string) => buildRecord(recordedCall(name), { e164: () => null });

/** Expected record of each recorded call, read from its records by hand in the format of `recordTold`. */
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  'attended-transfer': [
    'internal answered by caller · 1.8/0.0/9.0/4.2/0.0',
    '1001 caller answered by this_leg · alerting 0.3 · connected 1.0 1002 · held:other_side 2.1 1002 · connected 2.0 1003',
    '1002 called answered by this_leg · alerting 0.3 · connected 1.0 1001 · held:this_leg 2.1 1001',
    '1002 caller answered by this_leg · alerting 0.6 · connected 1.5 1003',
    '1003 consulted answered by other_side · alerting 0.6 · connected 1.5 1002 · connected 2.0 1001',
    'attended at 3.4: 1002 moved 1001 to 1003 (1003), completed',
  ],
  'blind-transfer-by-caller': [
    'internal answered by called · 3.1/0.0/7.5/0.0/0.0',
    '1001 caller answered by this_leg · alerting 0.3 · connected 2.0 1002',
    '1002 called answered by other_side · alerting 0.3 · connected 2.0 1001 · alerting 1.2 · connected 1.7 1003',
    '1003 transfer_target answered by this_leg · alerting 1.2 · connected 1.7 1002',
    'blind at 2.4: 1001 moved 1002 to 1003 (1003), completed',
  ],
  'blind-transfer-unanswered': [
    'internal answered by caller · 5.7/0.0/2.0/0.0/0.0',
    '1001 caller answered by this_leg · alerting 0.3 · connected 1.0 1002 · alerting 2.5',
    '1002 called answered by this_leg · alerting 0.3 · connected 1.0 1001',
    '1003 transfer_target cancelled_by_caller by other_side · alerting 2.5',
    'blind at 1.4: 1002 moved 1001 to 1003 (1003), abandoned',
  ],
  'blind-transfer-unregistered': [
    'internal answered by caller · 0.7/0.0/2.0/0.0/0.0',
    '1001 caller answered by this_leg · alerting 0.3 · connected 1.0 1002 · service:announcement 2.5',
    '1002 called answered by this_leg · alerting 0.3 · connected 1.0 1001',
    'blind at 1.4: 1002 moved 1001 to 1005 (-), failed',
  ],
  'blind-transfer': [
    'internal answered by called · 3.1/0.0/9.5/0.0/0.0',
    '1001 caller answered by other_side · alerting 0.3 · connected 2.0 1002 · alerting 1.2 · connected 2.7 1003',
    '1002 called answered by this_leg · alerting 0.3 · connected 2.0 1001',
    '1003 transfer_target answered by this_leg · alerting 1.2 · connected 2.7 1001',
    'blind at 2.4: 1002 moved 1001 to 1003 (1003), completed',
  ],
  busy: [
    'internal missed by called · 0.0/0.0/0.0/0.0/0.0',
    '1001 caller busy by exchange',
    '1002 called busy by this_leg',
  ],
  cancelled: [
    'internal missed by caller · 4.5/0.0/0.0/0.0/0.0',
    '1001 caller cancelled_by_caller by this_leg · alerting 2.2',
    '1002 called cancelled_by_caller by other_side · alerting 2.2',
  ],
  declined: [
    'internal missed by called · 2.4/0.0/0.0/0.0/0.0',
    '1001 caller rejected by exchange · alerting 1.2',
    '1002 called rejected by this_leg · alerting 1.2',
  ],
  echo: [
    'internal self_service by caller · 0.0/0.0/0.0/0.0/0.0',
    '1001 caller answered by this_leg · service:announcement 2.2',
  ],
  'feature-code': [
    'internal self_service by exchange · 0.0/0.0/0.0/0.0/0.0',
    '1003 caller answered by exchange · service:feature_code 1.0',
  ],
  'hold-and-consult': [
    'internal answered by called · 1.1/0.0/14.1/4.1/0.0',
    '1001 caller answered by this_leg · initiated 0.1 · connected 3.4 1003 · held:this_leg 1.2 1003 · connected 1.1 1003 · alerting 0.5 · connected 1.1 1005',
    '1003 called answered by this_leg · connected 3.4 1001 · held:other_side 1.2 1001 · connected 1.1 1001 · held:other_side 1.6 · connected 1.3 1005',
    '1005 consulted answered by other_side · alerting 0.5 · connected 1.1 1001 · connected 1.3 1003',
    'attended at 7.6: 1001 moved 1003 to 1005 (1005), completed',
  ],
  hold: [
    'internal answered by caller · 0.7/0.0/4.5/4.4/0.0',
    '1001 caller answered by this_leg · alerting 0.3 · connected 1.0 1002 · held:other_side 2.2 1002 · connected 1.2 1002',
    '1002 called answered by other_side · alerting 0.3 · connected 1.0 1001 · held:this_leg 2.2 1001 · connected 1.2 1001',
  ],
  'internal-answered': [
    'internal answered by caller · 2.4/0.0/5.1/0.0/0.0',
    '1001 caller answered by this_leg · alerting 1.2 · connected 2.5 1002',
    '1002 called answered by other_side · alerting 1.2 · connected 2.5 1001',
  ],
  'no-answer-voicemail': [
    'internal voicemail by caller · 3.0/0.0/0.0/0.0/0.0',
    '1001 caller answered by this_leg · alerting 1.5 · service:voicemail 3.0',
    '1006 called busy by this_leg · alerting 1.5',
  ],
  'no-answer': [
    'internal missed by exchange · 60.1/0.0/0.0/0.0/0.0',
    '1001 caller no_answer by exchange · alerting 30.0',
    '1002 called no_answer by exchange · alerting 30.0',
  ],
  'originate-local': [
    'internal answered by caller · 2.2/0.0/4.7/0.0/0.0',
    '1001 caller answered by this_leg · alerting 0.7 · alerting 0.7 · connected 2.3 1002',
    '1002 called answered by other_side · alerting 0.7 · connected 2.3 1001',
  ],
  originate: [
    'internal answered by caller · 2.2/0.0/4.1/0.0/0.0',
    '1001 caller answered by this_leg · alerting 1.4 · connected 2.0 1002',
    '1002 called answered by other_side · alerting 0.7 · connected 2.0 1001',
  ],
  park: [
    'internal answered by called · 0.7/0.0/5.1/0.0/2.5',
    '1001 caller answered by other_side · alerting 0.3 · connected 1.0 1002 · parked 2.5 · connected 1.5 1003',
    '1002 called answered by this_leg · alerting 0.3 · connected 1.0 1001 · service:announcement 2.6',
    '1003 retriever answered by this_leg · connected 1.5 1001',
    'park at 1.4: 1002 moved 1001 to 701 (1003), completed',
  ],
  pickup: [
    'internal answered by caller · 3.1/0.0/4.0/0.0/0.0',
    '1001 caller answered by this_leg · alerting 1.6 · connected 2.0 1003',
    '1002 called answered_elsewhere by exchange · alerting 1.5',
    '1003 retriever answered by other_side · connected 2.0 1001',
    'pickup at 1.6: 1003 moved 1002 to 1003 (1003), completed',
  ],
  'placed-declined': [
    'internal missed by caller · 0.3/0.0/0.0/0.0/0.0',
    '1001 caller rejected by this_leg · alerting 0.3',
  ],
  'placed-to-queue': [
    'internal answered by caller · 0.3/0.3/3.0/0.0/0.0',
    '1001 caller answered by this_leg · queued:support 0.3 · connected 1.5 1003',
    '1003 offered answered by other_side · alerting 0.3 · connected 1.5 1001',
    '1001 in support 0.3 answered 1003 · 1003 0.3 answered',
  ],
  'placed-unanswered': [
    'internal missed by caller · 2.5/0.0/0.0/0.0/0.0',
    '1001 caller cancelled_by_caller by this_leg · alerting 1.2',
    '1002 called cancelled_by_caller by other_side · alerting 1.2',
  ],
  placed: [
    'internal answered by caller · 1.6/0.0/3.0/0.0/0.0',
    '1001 caller answered by this_leg · alerting 1.0 · connected 1.5 1002',
    '1002 called answered by other_side · alerting 0.5 · connected 1.5 1001',
  ],
  'queue-abandoned': [
    'internal abandoned_in_queue by caller · 10.0/6.0/0.0/0.0/0.0',
    '1001 caller cancelled_by_caller by this_leg · queued:support 6.0',
    '1003 offered no_answer by exchange · alerting 4.0',
    '1004 offered no_answer by exchange · alerting 4.0',
    '1004 offered cancelled_by_caller by other_side · alerting 1.0',
    '1003 offered cancelled_by_caller by other_side · alerting 1.0',
    '1001 in support 6.0 abandoned - · 1003 4.0 no_answer · 1004 4.0 no_answer · 1004 1.0 cancelled_by_caller · 1003 1.0 cancelled_by_caller',
  ],
  'queue-answered-unoptimised': [
    'internal answered by caller · 5.0/2.5/4.0/0.0/0.0',
    '1001 caller answered by this_leg · service:announcement 0.5 · queued:support 2.5 · connected 2.0 1003',
    '1003 offered answered by other_side · alerting 2.5 · connected 2.0 1001',
    '1002 offered answered_elsewhere by exchange · alerting 2.5',
    '1001 in support 2.5 answered 1003 · 1003 2.5 answered · 1002 2.5 answered_elsewhere',
  ],
  'queue-answered': [
    'internal answered by caller · 5.0/2.5/5.5/0.0/0.0',
    '1001 caller answered by this_leg · queued:support 2.5 · connected 2.7 1004',
    '1003 offered answered_elsewhere by exchange · alerting 2.5',
    '1004 offered answered by other_side · alerting 2.5 · connected 2.7 1001',
    '1001 in support 2.5 answered 1004 · 1003 2.5 answered_elsewhere · 1004 2.5 answered',
  ],
  'queue-blind-transfer': [
    'internal answered by caller · 2.3/0.8/7.0/0.0/0.0',
    '1001 caller answered by this_leg · queued:support 0.8 · connected 1.8 1003 · alerting 0.7 · connected 1.7 1005',
    '1003 offered answered by this_leg · alerting 0.8 · connected 1.8 1001',
    '1005 transfer_target answered by other_side · alerting 0.7 · connected 1.7 1001',
    'blind at 2.6: 1003 moved 1001 to 1005 (1005), completed',
    '1001 in support 0.8 answered 1003 · 1003 0.8 answered',
  ],
  'queue-declined': [
    'internal abandoned_in_queue by caller · 0.7/1.0/0.0/0.0/0.0',
    '1001 caller cancelled_by_caller by this_leg · queued:support 1.0',
    '1003 offered busy by this_leg · alerting 0.7',
    '1001 in support 1.0 abandoned - · 1003 0.7 busy',
  ],
  'queue-linear': [
    'internal answered by caller · 4.7/5.7/4.5/0.0/0.0',
    '1001 caller answered by this_leg · queued:sales 5.7 · connected 2.2 1004',
    '1003 offered no_answer by exchange · alerting 4.0',
    '1004 offered answered by other_side · alerting 0.7 · connected 2.2 1001',
    '1001 in sales 5.7 answered 1004 · 1003 4.0 no_answer · 1004 0.7 answered',
  ],
  'queue-nobody': [
    'internal abandoned_in_queue by caller · 0.0/3.0/0.0/0.0/0.0',
    '1001 caller cancelled_by_caller by this_leg · queued:support 3.0',
    '1001 in support 3.0 abandoned -',
  ],
  'queue-second-round': [
    'internal answered by called · 9.6/5.8/4.5/0.0/0.0',
    '1001 caller answered by other_side · queued:support 5.8 · connected 2.2 1004',
    '1003 offered no_answer by exchange · alerting 4.0',
    '1004 offered no_answer by exchange · alerting 4.0',
    '1003 offered answered_elsewhere by exchange · alerting 0.8',
    '1004 offered answered by this_leg · alerting 0.8 · connected 2.2 1001',
    '1001 in support 5.8 answered 1004 · 1003 4.0 no_answer · 1004 4.0 no_answer · 1003 0.8 answered_elsewhere · 1004 0.8 answered',
  ],
  'three-devices-missed': [
    'internal missed by caller · 3.1/0.0/0.0/0.0/0.0',
    '1001 caller cancelled_by_caller by this_leg · alerting 1.5',
    '1002 called cancelled_by_caller by other_side · alerting 1.5',
    '1002 called busy by this_leg',
  ],
  'three-devices': [
    'internal answered by caller · 4.1/0.0/3.1/0.0/0.0',
    '1001 caller answered by this_leg · alerting 1.0 · connected 1.5 1002',
    '1002 called answered_elsewhere by exchange · alerting 1.0',
    '1002 called answered by other_side · alerting 1.0 · connected 1.5 1001',
    '1002 called answered_elsewhere by exchange · alerting 1.0',
  ],
  'transfer-to-queue': [
    'internal answered by called · 1.9/1.2/5.5/0.0/0.0',
    '1001 caller answered by other_side · alerting 0.3 · connected 1.0 1002 · queued:support 1.2 · connected 1.7 1004',
    '1002 called answered by this_leg · alerting 0.3 · connected 1.0 1001',
    '1004 offered answered by this_leg · alerting 1.2 · connected 1.7 1001',
    'blind at 1.4: 1002 moved 1001 to 500 (1004), completed',
    '1001 in support 1.2 answered 1004 · 1004 1.2 answered',
  ],
  'unregistered-voicemail': [
    'internal voicemail by caller · 0.0/0.0/0.0/0.0/0.0',
    '1001 caller answered by this_leg · service:voicemail 3.0',
  ],
  unregistered: ['internal failed by exchange · 0.0/0.0/0.0/0.0/0.0', '1001 caller unreachable by exchange'],
  'voicemail-main': [
    'internal self_service by caller · 0.0/0.0/0.0/0.0/0.0',
    '1001 caller answered by this_leg · service:mailbox 1.7',
  ],
  'attended-after-answer': [
    'internal answered by called · 0.8/0.0/6.2/2.2/0.0',
    '1001 caller answered by other_side · alerting 0.3 · connected 1.0 1002 · held:other_side 1.1 1002 · connected 1.0 1003',
    '1002 called answered by this_leg · alerting 0.3 · connected 1.0 1001 · held:this_leg 1.1 1001',
    '1002 caller answered by this_leg · alerting 0.1 · connected 1.0 1003',
    '1003 consulted answered by this_leg · alerting 0.1 · connected 1.0 1002 · connected 1.0 1001',
    'attended at 2.5: 1002 moved 1001 to 1003 (1003), completed',
  ],
  'attended-before-answer': [
    'internal answered by caller · 5.7/0.0/4.1/4.1/0.0',
    '1001 caller answered by this_leg · alerting 0.4 · connected 1.0 1002 · held:other_side 2.0 1002 · alerting 0.4 · connected 1.0 1003',
    '1002 called answered by this_leg · alerting 0.4 · connected 1.0 1001 · held:this_leg 2.0 1001',
    '1002 caller diverted by this_leg · alerting 2.0',
    '1003 transfer_target answered by other_side · alerting 2.5 · connected 1.0 1001',
    'attended at 3.4: 1002 moved 1001 to 1003 (1003), completed',
  ],
  'attended-into-queue': [
    'internal answered by caller · 2.3/4.0/4.9/3.1/0.0',
    '1001 caller answered by this_leg · alerting 0.6 · connected 1.2 1002 · held:other_side 1.5 1002 · queued:support 2.5 · connected 1.3 1003',
    '1002 called answered by this_leg · alerting 0.6 · connected 1.2 1001 · held:this_leg 1.5 1001',
    '1002 caller diverted by this_leg · queued:support 1.5',
    '1003 offered answered by other_side · alerting 1.0 · connected 1.3 1001',
    'attended at 3.3: 1002 moved 1001 to 500 (1003), completed',
    '1001 in support 4.0 answered 1003 · 1003 1.0 answered',
  ],
  'attended-into-queue-ringing': [
    'internal answered by caller · 4.0/2.8/2.0/2.5/0.0',
    '1001 caller answered by this_leg · alerting 0.6 · connected 1.0 1002 · held:other_side 1.2 1002 · queued:support 1.5',
    '1002 called answered by this_leg · alerting 0.6 · connected 1.0 1001 · held:this_leg 1.2 1001',
    '1002 caller diverted by this_leg · queued:support 1.2',
    '1003 offered cancelled_by_caller by other_side · alerting 2.8',
    'attended at 2.9: 1002 moved 1001 to 500 (1003), abandoned',
    '1001 in support 2.8 abandoned - · 1003 2.8 cancelled_by_caller',
  ],
  'attended-by-keys-abandoned': [
    'internal answered by caller · 2.4/0.0/7.6/6.2/0.0',
    '1001 caller answered by this_leg · alerting 0.4 · connected 1.1 1002 · held:other_side 2.0 1002 · held:other_side 2.1 · connected 1.4 1002',
    '1002 called answered by other_side · alerting 0.4 · connected 1.1 1001 · held:this_leg 2.0 1001 · alerting 0.8 · connected 1.3 1003 · connected 1.4 1001',
    '1003 consulted answered by other_side · alerting 0.8 · connected 1.3 1002',
    'attended at 3.5: 1002 moved 1001 to 1003 (1003), abandoned',
  ],
  'attended-by-keys-before-answer': [
    'internal answered by caller · 3.8/0.0/4.4/4.8/0.0',
    '1001 caller answered by this_leg · alerting 0.3 · connected 1.1 1002 · held:other_side 2.0 1002 · held:other_side 0.8 · alerting 0.7 · connected 1.0 1003',
    '1002 called answered by this_leg · alerting 0.3 · connected 1.1 1001 · held:this_leg 2.0 1001 · alerting 0.8',
    '1003 transfer_target answered by other_side · alerting 1.5 · connected 1.0 1001',
    'attended at 4.3: 1002 moved 1001 to 1003 (1003), completed',
  ],
  'cancelled-before-ring': [
    'internal missed by caller · 0.0/0.0/0.0/0.0/0.0',
    '1001 caller cancelled_by_caller by this_leg',
    '1002 called cancelled_by_caller by other_side',
  ],
  congestion: [
    'internal failed by called · 0.0/0.0/0.0/0.0/0.0',
    '1001 caller congestion by exchange',
    '1002 called congestion by this_leg',
  ],
  forward: [
    'internal answered by caller · 1.4/0.0/2.6/0.0/0.0',
    '1001 caller answered by this_leg · alerting 0.1 · alerting 0.6 · connected 1.3 1003',
    '1002 called diverted by this_leg · alerting 0.1',
    '1003 transfer_target answered by other_side · alerting 0.6 · connected 1.3 1001',
    'forward at 0.1: 1002 moved 1001 to 1003 (1003), completed',
  ],
  'forward-code': [
    'internal answered by caller · 1.1/0.0/2.1/0.0/0.0',
    '1001 caller answered by this_leg · alerting 0.5 · connected 1.0 1003',
    '1003 transfer_target answered by other_side · alerting 0.5 · connected 1.0 1001',
    'forward at 0.0: - moved 1001 to 1003 (1003), completed',
  ],
  'forward-refused': [
    'internal missed by exchange · 0.2/0.0/0.0/0.0/0.0',
    '1001 caller busy by exchange · alerting 0.1',
    '1002 called diverted by this_leg · alerting 0.1',
    'forward at 0.1: 1002 moved 1001 to 0301234 (-), failed',
  ],
  'hold-both': [
    'internal answered by caller · 0.7/0.0/4.1/6.9/0.0',
    '1001 caller answered by this_leg · alerting 0.4 · connected 1.0 1002 · held:other_side 1.4 1002 · held:both 0.9 1002 · held:this_leg 1.2 1002 · connected 1.0 1002',
    '1002 called answered by other_side · alerting 0.4 · connected 1.0 1001 · held:this_leg 1.4 1001 · held:both 0.9 1001 · held:other_side 1.2 1001 · connected 1.0 1001',
  ],
  'hold-by-caller': [
    'internal answered by caller · 0.7/0.0/2.1/4.7/0.0',
    '1001 caller answered by this_leg · alerting 0.3 · connected 1.0 1002 · held:this_leg 2.4 1002',
    '1002 called answered by other_side · alerting 0.3 · connected 1.0 1001 · held:other_side 2.4 1001',
  ],
  'park-abandoned': [
    'internal answered by caller · 0.7/0.0/2.1/0.0/5.1',
    '1001 caller answered by this_leg · alerting 0.4 · connected 1.0 1002 · parked 5.1',
    '1002 called answered by this_leg · alerting 0.4 · connected 1.0 1001 · service:announcement 2.6',
    'park at 1.4: 1002 moved 1001 to 700 (-), abandoned',
  ],
  'park-timeout': [
    'internal answered by caller · 1.9/0.0/4.2/0.0/10.0',
    '1001 caller answered by this_leg · alerting 0.3 · connected 1.0 1002 · parked 10.0 · alerting 0.6 · connected 1.1 1002',
    '1002 called answered by this_leg · alerting 0.3 · connected 1.0 1001 · service:announcement 2.6',
    '1002 transfer_target answered by other_side · alerting 0.6 · connected 1.1 1001',
    'park at 1.4: 1002 moved 1001 to 700 (1002), no_answer',
  ],
  'pickup-group': [
    'internal answered by called · 0.1/0.0/2.0/0.0/0.0',
    '1001 caller answered by other_side · alerting 0.1 · connected 1.0 1003',
    '1002 called answered_elsewhere by exchange · alerting 0.1',
    '1003 retriever answered by this_leg · connected 1.0 1001',
    'pickup at 0.1: 1003 moved 1002 to 1003 (1003), completed',
  ],
  'queue-attended-transfer': [
    'internal answered by caller · 0.6/0.5/6.2/2.2/0.0',
    '1001 caller answered by this_leg · queued:support 0.5 · connected 1.0 1003 · held:other_side 1.1 1003 · connected 1.0 1002',
    '1003 offered answered by this_leg · alerting 0.5 · connected 1.0 1001 · held:this_leg 1.1 1001',
    '1003 caller answered by this_leg · connected 1.0 1002',
    '1002 consulted answered by other_side · connected 1.0 1003 · connected 1.0 1001',
    'attended at 2.6: 1003 moved 1001 to 1002 (1002), completed',
    '1001 in support 0.5 answered 1003 · 1003 0.5 answered',
  ],
  'queue-timeout': [
    'internal missed by exchange · 6.0/7.0/0.0/0.0/0.0',
    '1001 caller no_answer by exchange · queued:support 7.0 · service:announcement 2.8',
    '1003 offered no_answer by exchange · alerting 3.0',
    '1003 offered no_answer by exchange · alerting 3.0',
    '1001 in support 7.0 timeout - · 1003 3.0 no_answer · 1003 3.0 no_answer',
  ],
  'three-way': [
    'internal answered by caller · 2.4/0.0/11.2/6.1/0.0',
    '1001 caller answered by this_leg · alerting 0.4 · connected 1.1 1002 · held:other_side 2.0 1002 · held:other_side 2.1 · connected 1.4 1002+1003 · connected 1.0 1003',
    '1002 called answered by this_leg · alerting 0.4 · connected 1.1 1001 · held:this_leg 2.0 1001 · alerting 0.8 · connected 1.3 1003 · connected 1.4 1001+1003',
    '1003 consulted answered by other_side · alerting 0.8 · connected 1.3 1002 · connected 1.4 1001+1002 · connected 1.0 1001',
    'conference at 5.6: 1002 moved 1001 to 1003 (1003), completed',
  ],
  'voicemail-busy': [
    'internal voicemail by caller · 0.0/0.0/0.0/0.0/0.0',
    '1001 caller answered by this_leg · service:voicemail 0.8',
    '1005 called busy by this_leg',
  ],
};

for (const [name, lines] of Object.entries(EXPECTED)) {
  test(`record - a recorded call: ${name}`, () => {
    const record = build(name)!;
    assert.equal(record.complete, true);
    assert.deepEqual(recordLines(record), lines);
  });
}

test('record - every recording has its expected record; a call with a supervisor who listens has none', () => {
  // Two simultaneous calls, which only ingestion separates.
  const others = new Set(['call-waiting', 'listen']);
  const inside = recordedCalls.filter((n) => !others.has(n) && !n.startsWith('trunk-'));
  assert.deepEqual(inside.sort(), Object.keys(EXPECTED).sort());
  assert.equal(build('listen'), null);
});
