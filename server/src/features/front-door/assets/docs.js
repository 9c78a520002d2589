/* global SwaggerUIBundle */
SwaggerUIBundle({
  url: '/api/v1/openapi.json',
  dom_id: '#docs',
  deepLinking: true,
  // Closed groups, so that all of them are seen at once.
  docExpansion: 'none',
  tryItOutEnabled: true,
  persistAuthorization: false,
  displayRequestDuration: true,
  // The validator would be asked over the network.
  validatorUrl: null,
});
