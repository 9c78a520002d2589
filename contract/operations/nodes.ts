import { DrainBody, NodeName, SiteNodesReply } from '../nodes.ts';
import { area } from '../operation.ts';
import { Done } from '../session.ts';

const ERRORS = ['invalid_request', 'not_found', 'node_not_ready', 'store_unavailable'] as const;

export const nodes = area('nodes', {
  list: {
    method: 'GET',
    path: '/api/v1/nodes',
    level: 'admin',
    scope: 'system:read',
    reply: SiteNodesReply,
    errors: ['store_unavailable'],
    summary: 'The nodes of the site, and which one leads',
  },
  switch: {
    method: 'POST',
    path: '/api/v1/nodes/:name/switch',
    action: 'nodes.switch',
    audit: 'node.switched',
    tool: false,
    level: 'admin',
    confirm: true,
    params: NodeName,
    reply: Done,
    errors: ERRORS,
    summary: 'Pass the site to a standby',
    description:
      'The success means that it was asked for: the leading node passes the site on within about a second, with the calls at its engine, and requests get 503 until the other one leads.',
  },
  drain: {
    method: 'POST',
    path: '/api/v1/nodes/:name/drain',
    action: 'nodes.drain',
    audit: 'node.drained',
    tool: false,
    level: 'admin',
    confirm: true,
    params: NodeName,
    body: DrainBody,
    reply: Done,
    errors: ERRORS,
    summary: 'Have an engine node pass the site on at a moment without a call, and stay out',
  },
  undrain: {
    method: 'DELETE',
    path: '/api/v1/nodes/:name/drain',
    action: 'nodes.undrain',
    audit: 'node.undrained',
    tool: false,
    level: 'admin',
    params: NodeName,
    reply: Done,
    errors: ERRORS,
    summary: 'End the drain of a node',
  },
});
