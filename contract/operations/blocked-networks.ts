import { BlockedNetworkId, BlockedNetworks } from '../blocked-networks.ts';
import { area } from '../operation.ts';
import { Done } from '../session.ts';

export const blockedNetworks = area('sip', {
  list: {
    method: 'GET',
    path: '/api/v1/blocked-networks',
    level: 'admin',
    scope: 'system:read',
    reply: BlockedNetworks,
    errors: [],
    summary: 'Networks whose SIP requests are rejected for a time',
  },
  release: {
    method: 'DELETE',
    path: '/api/v1/blocked-networks/:id',
    action: 'blocked_networks.release',
    audit: 'sip.network_released',
    tool: false,
    level: 'admin',
    params: BlockedNetworkId,
    reply: Done,
    errors: ['invalid_request', 'not_found', 'store_unavailable'],
    summary: 'End the block of a network',
  },
});
