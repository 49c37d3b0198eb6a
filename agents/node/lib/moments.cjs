// The four moments at which a request is told, as numbers: the same as in addon.c.
'use strict';

module.exports = { CLIENT_REQUEST: 0, SERVER_RECEIVE: 1, SERVER_RESPONSE: 2, CLIENT_RESPONSE: 3 };
