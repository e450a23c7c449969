/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status - the texts of enum gfp_status. Holds no state.
 */
#include "config.h"

#include <stddef.h>

#include "proto/status.h"

static const char *const texts[GFP_STATUS_LIMIT] = {
	[GFP_OK] = "no error",
	[GFP_END] = "nothing more follows",
	[GFP_SHORT] = "ends too early",
	[GFP_SPLIT] = "one fragment of several",
	[GFP_TOO_BIG] = "length over the limit",
	[GFP_BAD] = "malformed",
};

const char *gfp_status_text(enum gfp_status status)
{
	if ((unsigned int)status >= GFP_STATUS_LIMIT)
		return "unknown status";
	return texts[status];
}
